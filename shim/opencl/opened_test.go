//go:build linux

package opencl_layer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Applications that open an OpenCL library by themselves, and look its functions up, where
// the library knows no layers: as CUDA's loader, or a driver without one.

const interposer = "libkernstash_preload.so"

// interposers builds what takes part in dlsym, beside each build of the shim; and a loader
// that knows no layers: this machine's, which is to look at another variable. It returns
// the folder of that.
var interposers = sync.OnceValues(func() (old string, err error) {
	if err := cbuild.Shim("preload", interposer, built); err != nil {
		return "", err
	}
	b, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
	if err != nil {
		return "", err
	}
	old = filepath.Join(built, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return "", err
	}
	b = bytes.ReplaceAll(b, []byte("OPENCL_LAYERS\x00"), []byte("OPENCL_NOBODY\x00"))
	if err := os.WriteFile(filepath.Join(old, "libOpenCL.so.1"), b, 0o700); err != nil {
		return "", err
	}
	var programs []compilation
	for _, name := range []string{"observe", "file"} {
		programs = append(programs, compilation{name, filepath.Join(built, name+"-opened"), []string{"-include", "testdata/opened.h"}})
	}
	both := []string{"-include", "testdata/opened.h", "-Wl,--no-as-needed", "-lOpenCL"}
	programs = append(programs, compilation{"observe", filepath.Join(built, "observe-both"), both})
	for _, s := range sanitizers {
		stress := append([]string{"testdata/counts.c", "-include", "testdata/opened.h"}, s.flags...)
		programs = append(programs, compilation{"stress", filepath.Join(built, s.name, "stress-opened"), stress})
	}
	return old, all(programs)
})

// preloaded is the environment of `kernstash run` where it has chosen a door.
func preloaded(door string) []string {
	env := []string{"KERNSTASH_OPENCL_DOOR=" + door}
	if door == "preload" {
		return append(env, "LD_PRELOAD="+filepath.Join(built, shim)+":"+filepath.Join(built, interposer))
	}
	return append(env, "LD_PRELOAD="+filepath.Join(built, interposer), "OPENCL_LAYERS="+filepath.Join(built, shim))
}

// opened says to a program which library to open, and how; see testdata/opened.h.
func opened(library, how string) []string { return []string{"OPENED=" + library, "OPENED_HOW=" + how} }

// All that can be observed is the same, by whichever way a program reaches its library,
// and one door is open, if any.
func TestOpened(t *testing.T) {
	t.Parallel()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	const soname, layer, preload = "libOpenCL.so.1", "opencl-layer", "opencl-preload"
	path := filepath.Join(old, soname)
	s := newStage(t, drivers[0])
	parts := "rebuild,lifetimes"
	first := []string{"LD_LIBRARY_PATH=" + old} // the loader that knows no layers is found by its name
	want := normal(s.mustRun(t, nil, "observe", parts).out)
	for _, c := range []struct {
		name, program string
		env           []string
		door          string // which `kernstash run` would choose
		served        string // by which; "" for none
	}{
		{"linked", "observe", first, "preload", preload},
		{"by its name", "observe-opened", append(opened(soname, "local"), first...), "preload", preload},
		{"for all", "observe-opened", append(opened(soname, "global"), first...), "preload", preload},
		{"by a wrapper", "observe-opened", append(opened(soname, "wrapped"), first...), "preload", preload},
		{"by its path", "observe-opened", opened(path, "local"), "preload", preload},
		{"by its path, another one found", "observe-opened", opened(path, "local"), "layer", preload},
		{"by its path, for all, another one found", "observe-opened", opened(path, "global"), "layer", preload},
		{"linked and by its name", "observe-both", append(opened(soname, "local"), first...), "preload", preload},
		{"linked and by its name, not preloaded", "observe-both", append(opened(soname, "local"), first...), "layer", ""},
		{"one that knows layers", "observe-opened", opened(soname, "local"), "layer", layer},
		{"one that knows layers, for all", "observe-opened", opened(soname, "global"), "layer", layer},
		{"one that knows layers, linked", "observe", nil, "layer", layer},
		{"by version", "observe-opened", append(opened(soname, "version"), first...), "preload", ""},
		{"in a namespace", "observe-opened", append(opened(soname, "space"), first...), "preload", ""},
	} {
		r := s.mustRun(t, append(preloaded(c.door), c.env...), c.program, parts)
		if diff := cmp.Diff(want, normal(r.out)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		for _, door := range []string{layer, preload} {
			if n := strings.Count(r.report, `"door":"`+door+`"`); (n == 1) != (c.served == door) || n > 1 {
				t.Errorf("%s: served by %s %d times:\n%s", c.name, door, n, r.report)
			}
		}
		if n := count(r.log, "restored"); (n == 0) != (c.served == "") || r.out == "" {
			t.Errorf("%s: %d restored", c.name, n)
		}
	}
}

// The same with Intel's driver, and what keeps out keeps this door shut.
func TestOpenedOnIntel(t *testing.T) {
	t.Parallel()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, drivers[1])
	env := append(opened(filepath.Join(old, "libOpenCL.so.1"), "local"), preloaded("layer")...)
	want := normal(s.mustRun(t, nil, "observe", "rebuild").out)
	for _, c := range []struct {
		name, variable string
		restored       bool
	}{
		{"cold", "X=", false},
		{"warm", "X=", true},
		{"off", "KERNSTASH_DISABLE=1", false},
		{"no interposer", "LD_PRELOAD=", false},
		{"nothing said", "KERNSTASH_OPENCL_DOOR=", false},
	} {
		r := s.mustRun(t, append(env, c.variable), "observe-opened", "rebuild")
		if diff := cmp.Diff(want, normal(r.out)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if n := count(r.log, "restored"); c.restored && n == 0 || c.variable != "X=" && r.log != "" {
			t.Errorf("%s: %d restored\n%s", c.name, n, r.log)
		}
	}
}

// Unusual applications, which open the loader and fork, close it, have threads; with the
// library itself.
func TestHostsOpened(t *testing.T) {
	t.Parallel()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"closing", "fork-after", "threads", "loading"}
	if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
		names = append(names, "signals-before", "fork-before", "exiting", "closing-all")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, drivers[0])
			want := s.run(t, nil, "host", name)
			env := append(s.realLibrary(t), "OPENCL_LAYERS=", "LD_LIBRARY_PATH="+old)
			for _, door := range []string{"preload", "layer"} {
				r := s.run(t, append(env, preloaded(door)...), "host", name)
				if r.code != want.code || r.out != want.out {
					t.Errorf("%s: exit %d, without the cache %d\n%s\n%s", door, r.code, want.code, r.out, r.err)
				}
				// A module that is linked is served where the layer is preloaded.
				if !strings.Contains(r.report, `"door":"opencl-preload"`) && (name != "loading" || door == "preload") {
					t.Errorf("%s: not served:\n%s", door, r.report)
				}
			}
		})
	}
}

// Three builds of the shim and of the interposer, of which two look for errors of memory
// and of threads, before a driver without a loader.
func TestStressOpened(t *testing.T) {
	t.Parallel()
	if _, err := interposers(); err != nil {
		t.Fatal(err)
	}
	for _, s := range sanitizers {
		for _, scenario := range []string{"first", "threads", "same", "callbacks", "lifetimes", "rebuilds", "forked-with", "together"} {
			t.Run(s.name+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(built, s.name)
				stage := newStage(t, driver{"fake", opened(filepath.Join(dir, "libfakecl.so"), "local")})
				preload := filepath.Join(dir, interposer)
				if s.name != "." {
					out, err := exec.Command("cc", "-print-file-name=lib"+s.name+".so").Output()
					if err != nil {
						t.Fatal(err)
					}
					preload = strings.TrimSpace(string(out)) + ":" + preload
				}
				env := []string{
					"LD_PRELOAD=" + preload, "KERNSTASH_OPENCL_DOOR=layer", "ASAN_OPTIONS=detect_leaks=0",
					"TSAN_OPTIONS=die_after_fork=0",
				}
				for range 2 {
					r := stage.mustRun(t, env, filepath.Join(dir, "stress-opened"), scenario)
					if strings.Contains(r.err, "Sanitizer") || strings.Contains(r.err, "runtime error") {
						t.Error(tail(r.err))
					}
					if count(r.log, "begin") == 0 || !strings.Contains(r.report, `"door":"opencl-preload"`) {
						t.Errorf("not served: %s\n%s", r.report, r.log)
					}
				}
			})
		}
	}
}

// A program that caches by itself, through the Go library, which opens the loader.
func TestDoorsStackedOpened(t *testing.T) {
	t.Parallel()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	kernstash, err := commandBuilt()
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, drivers[0])
	source := s.path("work") + "/thrice.cl"
	if err := os.WriteFile(source, []byte("kernel void thrice(global int *a) { a[get_global_id(0)] *= 3; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(append(s.realLibrary(t), "OPENCL_LAYERS=", "LD_LIBRARY_PATH="+old), preloaded("layer")...)
	for _, want := range []string{"1 built", "1 was there"} {
		r := s.mustRun(t, env, kernstash, "build", "--local-size", "64", source)
		if !strings.Contains(r.out, want) {
			t.Errorf("%s, want %s", r.out, want)
		}
		if !strings.Contains(r.report, `"door":"opencl-preload"`) || strings.Contains(r.report, `"door":"opencl-layer","exe"`) {
			t.Errorf("not loaded, or asked too:\n%s", r.report)
		}
	}
	env = append(env, opened("libOpenCL.so.1", "local")...)
	if r := s.mustRun(t, env, "file-opened", source); !strings.Contains(r.report, `"outcome":"disk"`) {
		t.Errorf("not found:\n%s", r.report)
	}
}
