//go:build !nogpu

package opencl_test

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

// random is what pyopencl adds to a source (its cache.py).
const random = "\n\n__constant int pyopencl_defeat_cache_0123456789abcdef0123456789abcdef = 0;"

// Only a whole constant of the very form, at the very end, is one of a random name.
func TestEndsWithRandomName(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"":                                   false,
		"kernel void k() {}":                 false,
		"kernel void k() {}" + random:        true,
		random:                               true,
		random[1:]:                           false,
		"kernel void k() {}" + random + "\n": false,
		"kernel void k() {}" + random[:len(random)-1]:                    false,
		"kernel void k() {}" + strings.Replace(random, "0123", "012", 1): false,
		"kernel void k() {}" + strings.Replace(random, "abc", "ABC", 1):  false,
		"kernel void k() {}" + strings.Replace(random, "= 0", "= 1", 1):  false,
	} {
		if got := opencl.EndsWithRandomName([]byte(code)); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
}

// The name is replaced where nothing else can mean it, and only there.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	const (
		kernel = "kernel void k(global int *p) { *p = 1; }"
		fixed  = "\n\n__constant int pyopencl_defeat_cache_00000000000000000000000000000000 = 0;"
		paste  = "#define P(a, b, c) a##b##c\n"
	)
	for _, c := range []struct {
		source  string
		options string
		files   []string
		why     string // "": it is replaced
	}{
		{source: kernel},
		{source: ""},
		{source: kernel + " /* open"},
		{source: kernel + "\n#if 1"},
		{source: kernel + "\n#define A \\"},
		{source: kernel + "\n__attribute__((used))"},
		{source: "#define int long\n" + kernel},
		{source: "#pragma clang attribute push(__attribute__((used)), apply_to = variable)\n" + kernel},
		{source: paste + "kernel void k(global int *p) { *p = P(1, 2, 3); }"},
		{source: paste + "int a, b, c, d, e, f, l, n, o, p, t, y, l_d, pyopencl_x;\n" + kernel},
		{source: "extern constant int pyopencl_defeat_cache_;\n" + kernel},
		{source: kernel, options: "-cl-fast-relaxed-math -DN=3 -D M -I /usr/include -w -Werror -cl-std=CL1.2 -Dint=long"},
		{source: "#include <a.h>\n" + kernel, options: "-I /usr/include", files: []string{"#ifndef A\n#define A\n#define N 1\n#endif", "#pragma once\nint f(int);\n"}},

		{source: "extern constant int pyopencl_defeat_cache_0123456789abcdef0123456789abcdef;\n" + kernel, why: "mean"},
		{source: "extern constant int pyopencl_defeat_cache_00000000000000000000000000000000;\n" + kernel, why: "mean"},
		{source: "extern constant int pyopencl_de\\\nfeat_cache_01\\ \n23456789abcdef0123456789abc??/\ndef;\n" + kernel, why: "mean"},
		{source: paste + "extern constant int P(pyopencl_, defeat_cache_0123456789abcdef01234, 56789abcdef);\n" + kernel, why: "mean"},
		{source: paste + "extern constant int P(pyopencl_defeat_cache_, 0, 0);\n" + kernel, why: "mean"},
		{source: paste + kernel, options: "-DA=pyopencl_ -DB=defeat_cache_0123456789abcdef -D C=0123456789abcdef", why: "mean"},
		{source: paste + "#include <a.h>\n" + kernel, options: "-DA=pyopencl_", files: []string{"int f(int);", "#define B defeat_cache_0123456789abcdef\n", "0123456789abcdef"}, why: "mean"},
		{source: kernel, options: "-g", why: "option -g"},
		{source: kernel, options: "-Weverything", why: "option -Weverything"},
		{source: kernel, options: "-cl-opt-disable", why: "option -cl-opt-disable"},
		{source: kernel, options: "-cl-std=CLC++", why: "option -cl-std=CLC++"},
		{source: kernel, options: "-include a.h", why: "option -include"},
	} {
		got, checkFiles, err := device(t).Repeatable([]byte(c.source+random), key.Tokens(c.options))
		if err == nil {
			var files [][]byte
			for _, f := range c.files {
				files = append(files, []byte(f))
			}
			err = checkFiles(files)
		}
		switch {
		case c.why == "" && (err != nil || string(got) != c.source+fixed):
			t.Errorf("%q with %q: %q, %v; want the source with the fixed name", c.source, c.options, got, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%q with %q: %v, want an error with %q", c.source, c.options, err, c.why)
		}
	}
	if got, checkFiles, err := device(t).Repeatable([]byte(kernel), []string{"-g"}); string(got) != kernel || checkFiles != nil || err != nil {
		t.Errorf("a source without the constant: %q, %v", got, err)
	}
}

// What checks files keeps nothing of the code, which may be memory of C's that is freed.
func TestRepeatableKeepsItsOwnCode(t *testing.T) {
	t.Parallel()
	const source = "kernel void k(global int *p) { *p = 1; }\n"
	code := []byte(source + random)
	fixed, checkFiles, err := device(t).Repeatable(code, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range code {
		code[i] = '#'
	}
	if err := checkFiles(nil); err != nil || !strings.HasPrefix(string(fixed), source) {
		t.Errorf("%q, %v", fixed, err)
	}
}

// Of a driver that nobody has looked at, what is made of the constant is not known.
func TestRandomNameOfOtherDrivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ suffix, driver string }{
		{"NV", "580.95.05"},
		{"AMD", "3452.0"},
		{"MESA", "22.3.6"},
		{"oclg", "21.10"},
		{"ARM", "1"},
		{"INTEL", "22.42.24411"},
		{"INTEL", "22.430.1"},
		{"INTEL", "24.35.30872"},
		{"INTEL", "26.27.1"},
		{"INTEL", ""},
	} {
		if err := (&opencl.Platform{Suffix: c.suffix}).AgainstRandomName([]byte("kernel void k() {}"+random), c.driver); err == nil {
			t.Errorf("%s %s: no error", c.suffix, c.driver)
		}
	}
}
