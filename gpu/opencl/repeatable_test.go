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

// The constant is taken out where nothing else can be meant by what stands before it, and only
// there.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	const kernel = "kernel void k(global int *p) { *p = 1; }"
	for _, c := range []struct {
		source  string
		options string
		files   []string
		why     string // "": it is taken out
	}{
		{source: kernel},
		{source: kernel + "\n"},
		{source: kernel + " // behind"},
		{source: kernel + " /* behind */"},
		{source: "constant int c = 1;"},
		{source: "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + kernel + "\n#undef X\n"},
		{source: "#ifdef X\n#define Y 1\n#endif\n" + kernel + "\n#pragma unroll\n"},
		{source: "#ifdef _OPENMP\n#pragma omp parallel for\n#endif\n" + kernel},
		{source: "#pragma STDC FP_CONTRACT OFF\nkernel void k(global int *p) {\n#pragma clang loop unroll(full)\nfor (int i = 0; i < 4; i++) p[i] = 1;\n}\n#pragma omp declare simd\n"},
		{source: "#define PASTE(a, b) a##b\nkernel void k(global int *p) { *p = PASTE(1, 2); }"},
		{source: "constant char s[] = \"/* \\\" //\";\n" + kernel},
		{source: "#define A 1 \\\n + 2\n" + kernel},
		{source: kernel, options: "-cl-fast-relaxed-math -DN=3 -D M -I /usr/include -w -Werror -cl-std=CL1.2"},
		{source: "#include <a.h>\n" + kernel, options: "-I /usr/include", files: []string{"#ifndef A\n#define A\n#define N 1\n#endif", "#pragma once\nint f(int);\n", "// N==?? is no trigraph\n"}},

		{source: "", why: "declaration"},
		{source: "#define A 1", why: "declaration"},
		{source: kernel + "\nextern", why: "declaration"},
		{source: kernel + "\n__attribute__((used))", why: "declaration"},
		{source: kernel + "\n__attribute__((used))\n#pragma unroll\n", why: "declaration"},
		{source: kernel + "\nMACRO(x)", why: "declaration"},
		{source: "constant int a = 1,", why: "declaration"},
		{source: kernel + "\n#include \"a.h\"", why: "declaration"},
		{source: kernel + " /* open", why: "within a comment"},
		{source: kernel + "\n#define A /* open\n*/\n", why: "behind a directive"},
		{source: kernel + "\n#if 1", why: "within a condition"},
		{source: "__attribute__((used))\n#if 0\n;\n#endif", why: "within a condition"},
		{source: kernel + "\n#if 1\n#else\n;", why: "within a condition"},
		{source: "constant char s[] = \"open;\n" + kernel, why: "open literal"},
		{source: kernel + "\n#define A \\", why: "has"},
		{source: kernel + "\n#define A \\ \nint", why: "has"},
		{source: "#define __constant\n" + kernel, why: "defines __constant"},
		{source: "#define int long\n" + kernel, why: "defines int"},
		{source: "#def\\\nine int long\n" + kernel, why: "defines int"},
		{source: "%:define int long\n" + kernel, why: "has"},
		{source: "??=define int long\n" + kernel, why: "has"},
		{source: "#pragma clang attribute push(__attribute__((used)), apply_to = variable)\n" + kernel, why: "pragma clang"},
		{source: "#pragma clang diagnostic warning \"-Wunused\"\n" + kernel, why: "pragma clang"},
		{source: "#pragma GCC diagnostic warning \"-Weverything\"\n" + kernel, why: "pragma GCC"},
		{source: "#pragma ompx\n" + kernel, why: "pragma ompx"},
		{source: kernel, options: "-fopenmp", why: "option -fopenmp"},
		{source: "_Pragma(\"GCC poison int\")\n" + kernel, why: "has"},
		{source: "#import \"a.h\"\n" + kernel, why: "#import"},
		{source: "extern constant int pyopencl_defeat_cache_0123456789abcdef0123456789abcdef;\n" + kernel, why: "mention"},
		{source: "constant char s[] = \"0123456789abcdef0123456789abcdef\";\n" + kernel, why: "mention"},
		{source: "#define P(a, b, c) a##b##c\nextern constant int P(pyopencl_, defeat_cache_0123456789abcdef01234, 56789abcdef);\n" + kernel, why: "pasted"},
		{source: "#define P(a, b, c) a##b##c\n" + kernel, options: "-DA=pyopencl_ -DB=defeat_cache_0123456789abcdef -DC=0123456789abcdef", why: "pasted"},
		{source: kernel, options: "-Dint=long", why: "-Dint"},
		{source: kernel, options: "-D int=long", why: "-Dint"},
		{source: kernel, options: "-D\"int=long\"", why: "-Dint"},
		{source: kernel, options: "-D__constant=", why: "-D__constant"},
		{source: kernel, options: "-g", why: "option -g"},
		{source: kernel, options: "-Weverything", why: "option -Weverything"},
		{source: kernel, options: "-cl-opt-disable", why: "option -cl-opt-disable"},
		{source: kernel, options: "-cl-std=CLC++", why: "option -cl-std=CLC++"},
		{source: kernel, options: "-include a.h", why: "option -include"},
		{source: kernel, options: "-DA=pyopencl_defeat_cache_", why: "mention"},
		{source: "#include <a.h>\n" + kernel, files: []string{"int f(int);", "#define int long\n"}, why: "in a header file"},
		{source: "#include <a.h>\n" + kernel, files: []string{"#pragma GCC poison int\n"}, why: "in a header file"},
		{source: "#include <a.h>\n" + kernel, files: []string{"/* open"}, why: "in a header file"},
	} {
		rest, checkFiles, err := device(t).Repeatable([]byte(c.source+random), key.Tokens(c.options))
		if err == nil {
			var files [][]byte
			for _, f := range c.files {
				files = append(files, []byte(f))
			}
			err = checkFiles(files)
		}
		switch {
		case c.why == "" && (err != nil || string(rest) != c.source):
			t.Errorf("%q with %q: %q, %v; want the source alone", c.source, c.options, rest, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%q with %q: %v, want an error with %q", c.source, c.options, err, c.why)
		}
	}
	if rest, checkFiles, err := device(t).Repeatable([]byte(kernel), []string{"-g"}); string(rest) != kernel || checkFiles != nil || err != nil {
		t.Errorf("a source without the constant: %q, %v", rest, err)
	}
}

// What checks files keeps nothing of the code, which may be memory of C's that is freed.
func TestRepeatableKeepsItsOwnCode(t *testing.T) {
	t.Parallel()
	const source = "kernel void k(global int *p) { *p = 1; }\n"
	code := []byte(source + random)
	rest, checkFiles, err := device(t).Repeatable(code, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range code {
		code[i] = '#'
	}
	if err := checkFiles(nil); err != nil || string(rest) != source {
		t.Errorf("%q, %v", rest, err)
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
