//go:build linux

package observed_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// With PoCL's own kernel cache off, all that can be observed is the same, too, and what
// is known is restored. PoCL keeps the files of a program in a directory then, which
// goes with it: as many are left as without the layer.
func TestPoCLWithoutItsCache(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	off := "POCL_KERNEL_CACHE=0"
	left := func(s *stage.Stage) int {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(s.Path("pocl"), "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	control := stage.New(t, stage.PoCL)
	without := stage.Normal(control.MustRun(t, []string{off}, "observe").Out)
	s := stage.New(t, stage.PoCL)
	for _, name := range []string{"cold", "warm"} {
		before := left(s)
		r := s.MustRun(t, append(s.Layered(), off), "observe")
		if diff := cmp.Diff(without, stage.Normal(r.Out)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if n, most := left(s)-before, left(control); n > most {
			t.Errorf("%s: %d files are left, without the layer %d", name, n, most)
		}
		if built, restored := stage.Count(r.Log, "built"), stage.Count(r.Log, "restored"); name == "warm" && (built != 0 || restored < 10) {
			t.Errorf("%s: %d built, %d restored:\n%s", name, built, restored, r.Log)
		}
	}
}

// Processes that restore one binary at the same time do not take PoCL's files from one
// another: without care one in ten aborts.
func TestPoCLWithoutItsCacheInManyProcesses(t *testing.T) {
	t.Parallel()
	env := func(s, of *stage.Stage) []string {
		return append(s.Layered(), "POCL_KERNEL_CACHE=0", "FAKE_STORE="+of.Path("store"), "POCL_CACHE_DIR="+of.Path("pocl"))
	}
	first := stage.New(t, stage.PoCL)
	want := first.MustRun(t, env(first, first), "observe", "run").Out
	rounds := 2
	if timing.IsLong() {
		rounds = 6
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s := stage.New(t, stage.PoCL)
			for range rounds {
				if r := s.Run(t, env(s, first), "observe", "run"); r.Code != 0 || r.Out != want || stage.Count(r.Log, "restored") == 0 {
					t.Errorf("exit %d\n%s%s\n%s", r.Code, r.Out, stage.Tail(r.Err), r.Log)
				}
			}
		})
	}
	all.Wait()
}

// Where nobody knows whether PoCL's cache is on, it is left alone.
func TestPoCLWithItsCacheUnknown(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.PoCL)
	r := s.MustRun(t, append(s.Layered(), "POCL_KERNEL_CACHE=maybe"), "observe", "lifetimes")
	if stage.Count(r.Log, "passed POCL_KERNEL_CACHE is neither 0 nor 1, or was changed") == 0 || stage.Count(r.Log, "begin") != 0 {
		t.Errorf("%s", r.Log)
	}
}
