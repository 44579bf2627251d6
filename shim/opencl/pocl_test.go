//go:build linux

package opencl_layer_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With PoCL's own kernel cache off, all that can be observed is the same, too, and what
// is known is restored. PoCL keeps the files of a program in a directory then, which
// goes with it: as many are left as without the layer.
func TestPoCLWithoutItsCache(t *testing.T) {
	t.Parallel()
	off := "POCL_KERNEL_CACHE=0"
	left := func(s *stage) int {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(s.path("pocl"), "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	control := newStage(t, drivers[0])
	without := normal(control.mustRun(t, []string{off}, "observe").out)
	s := newStage(t, drivers[0])
	for _, name := range []string{"cold", "warm"} {
		before := left(s)
		r := s.mustRun(t, append(s.layered(), off), "observe")
		if diff := cmp.Diff(without, normal(r.out)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if n, most := left(s)-before, left(control); n > most {
			t.Errorf("%s: %d files are left, without the layer %d", name, n, most)
		}
		if built, restored := count(r.log, "built"), count(r.log, "restored"); name == "warm" && (built != 0 || restored < 10) {
			t.Errorf("%s: %d built, %d restored:\n%s", name, built, restored, r.log)
		}
	}
}

// Processes that restore one binary at the same time do not take PoCL's files from one
// another: without care one in ten aborts.
func TestPoCLWithoutItsCacheInManyProcesses(t *testing.T) {
	t.Parallel()
	env := func(s, of *stage) []string {
		return append(s.layered(), "POCL_KERNEL_CACHE=0", "FAKE_STORE="+of.path("store"), "POCL_CACHE_DIR="+of.path("pocl"))
	}
	first := newStage(t, drivers[0])
	want := first.mustRun(t, env(first, first), "observe", "run").out
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s := newStage(t, drivers[0])
			for range 6 {
				if r := s.run(t, env(s, first), "observe", "run"); r.code != 0 || r.out != want || count(r.log, "restored") == 0 {
					t.Errorf("exit %d\n%s%s\n%s", r.code, r.out, tail(r.err), r.log)
				}
			}
		})
	}
	all.Wait()
}

// Where nobody knows whether PoCL's cache is on, it is left alone.
func TestPoCLWithItsCacheUnknown(t *testing.T) {
	t.Parallel()
	s := newStage(t, drivers[0])
	r := s.mustRun(t, append(s.layered(), "POCL_KERNEL_CACHE=maybe"), "observe", "lifetimes")
	if count(r.log, "passed POCL_KERNEL_CACHE is neither 0 nor 1, or was changed") == 0 || count(r.log, "begin") != 0 {
		t.Errorf("%s", r.log)
	}
}
