//go:build linux

package preload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// What HIPRTC's compiler puts into messages: a folder of another name each time.
var noise = regexp.MustCompile(`/tmp/comgr-[0-9a-f]+|ProgramLog: 0, [0-9a-f]{16}`)

func normal(api, out string) string {
	if api == "hiprtc" {
		return noise.ReplaceAllString(out, "…")
	}
	return out
}

// Every answer to everything that can be asked is the same without the cache, with a
// cold and with a warm one; and what well-behaved programs ask makes no compile then. The
// short form has every third of their programs.
func TestObservedTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, api, what, library string
		programs                 int
		same                     int // of them are one with another
		linked                   bool
	}{
		{"by soname", "nvrtc", "plain", nvrtc, 27, 0, false},
		{"linked", "nvrtc", "plain", "linked", 27, 0, true},
		{"what goes wrong", "nvrtc", "wrong", nvrtc, 0, 0, false},
		{"odd", "nvrtc", "odd", nvrtc, 0, 0, false},
		{"odd, linked", "nvrtc", "odd", "linked", 0, 0, true},
		{"HIP", "hiprtc", "plain", hiprtc, 21, 1, false}, // HIPRTC ignores names: one without is the first

		{"HIP, what goes wrong", "hiprtc", "wrong", hiprtc, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name == "by soname" || strings.HasPrefix(c.name, "odd") || c.name == "HIP, what goes wrong" { // as those that are linked, and plain
				timing.Long(t)
			}
			s := newStage(t)
			env := []string{"OBSERVE_EVERY=1"}
			if c.programs > 0 && !timing.IsLong() {
				env, c.programs = []string{"OBSERVE_EVERY=3"}, c.programs/3
			}
			flags := []string{}
			if c.linked {
				flags = append(flags, "-DLINKED", "-l:"+nvrtc)
			}
			program := s.program("observe", flags...)
			args := []string{c.api, c.what, c.library}
			if c.library == nvrtc && c.what == "plain" {
				args[2] = real(t, nvrtc) // by its path
			}
			want := s.mustRun(false, env, program, args...)
			for _, run := range []string{"cold", "warm"} {
				got := s.mustRun(true, env, program, args...)
				if diff := cmp.Diff(normal(c.api, want.out), normal(c.api, got.out)); diff != "" {
					t.Fatalf("%s (-without +with the cache):\n%s", run, diff)
				}
				if c.programs == 0 {
					continue
				}
				expect := map[string]int{"disk": c.programs}
				if run == "cold" {
					expect = map[string]int{"compiled": c.programs - c.same}
					if c.same > 0 {
						expect["disk"] = c.same
					}
				}
				if diff := cmp.Diff(expect, got.report); diff != "" {
					t.Errorf("%s (-want +got): %s", run, diff)
				}
			}
			if c.what == "wrong" && len(s.entries()) != map[string]int{"nvrtc": 1}[c.api] { // an empty source compiles
				t.Errorf("stored: %q", s.entries())
			}
		})
	}
}

// real returns the file of a library that the dynamic linker finds.
func real(t *testing.T, soname string) string {
	t.Helper()
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"} {
		if path, err := filepath.EvalSymlinks(filepath.Join(dir, soname)); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not here", soname)
	return ""
}

// copyOf returns a copy of a library under another name.
func copyOf(t *testing.T, soname string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "libnvrtc_of_another_place.so")
	if out, err := exec.Command("cp", real(t, soname), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func plugin(t *testing.T, s *stage) string {
	t.Helper()
	return s.lib.CompileAlone(t, []string{"testdata/plugin.c"}, "-shared", "-fPIC", "-l:"+nvrtc)
}

// Ways in which a program reaches its compiler.
func TestWays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	host, local := s.program("host"), plugin(t, s)
	other := copyOf(t, nvrtc)
	for _, c := range []struct {
		name       string
		args       []string
		cold, warm map[string]int
	}{
		{"linked in a library that was opened with RTLD_LOCAL", []string{"plugin", local}, map[string]int{"compiled": 1}, map[string]int{"disk": 1}},
		{"with a scope of its own", []string{"deep", local}, map[string]int{}, map[string]int{}},
		{"two libraries", []string{"two", nvrtc, other}, map[string]int{"compiled": 2}, map[string]int{"disk": 2}},
		{"closed and opened", []string{"close", nvrtc}, map[string]int{"compiled": 1, "disk": 2}, map[string]int{"disk": 3}},
		{"forks", []string{"fork", nvrtc}, map[string]int{"compiled": 2, "disk": 1, "out: forked after the library was opened": 1}, map[string]int{"disk": 3, "out: forked after the library was opened": 1}},
		{"other names", []string{"next"}, map[string]int{}, map[string]int{}},
		{"no such library", []string{"none"}, map[string]int{}, map[string]int{}},
	} {
		want := s.mustRun(false, nil, host, c.args...)
		for run, report := range []map[string]int{c.cold, c.warm} {
			got := s.mustRun(true, nil, host, c.args...)
			if diff := cmp.Diff(want.out, got.out); diff != "" {
				t.Errorf("%s, run %d (-without +with the cache):\n%s", c.name, run, diff)
			}
			if diff := cmp.Diff(report, got.report); diff != "" {
				t.Errorf("%s, run %d (-want +got): %s", c.name, run, diff)
			}
		}
	}
}

// Nothing is served where the cache is to stay out, and nothing changes.
func TestStaysOut(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := os.RemoveAll(filepath.Join(s.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	host := s.program("host")
	want := s.mustRun(false, nil, host, "close", nvrtc)
	for _, c := range []struct {
		env    []string
		report map[string]int
	}{
		{[]string{"KERNSTASH_DISABLE=1"}, map[string]int{"out: KERNSTASH_DISABLE": 1}},
		{[]string{"KERNSTASH_LIBRARY=/nowhere/libkernstash.so.1"}, map[string]int{"out: library not found": 1}},
	} {
		got := s.mustRun(true, c.env, host, "close", nvrtc)
		if got.out != want.out {
			t.Errorf("%q: %s", c.env, got.out)
		}
		if diff := cmp.Diff(c.report, got.report); diff != "" {
			t.Errorf("%q (-want +got): %s", c.env, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "cache")); err == nil {
		t.Error("it made a cache")
	}
}

// Nobody loads our library who compiles nothing.
func TestCostsNothingWhereNothingIsCompiled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	got := s.mustRun(true, []string{"LD_DEBUG=files"}, s.program("host"), "next")
	if regexp.MustCompile(`libkernstash\.so`).MatchString(got.err) {
		t.Error("libkernstash was opened")
	}
}
