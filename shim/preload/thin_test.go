//go:build linux

package preload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A library that calls the compiler in the name of its own callers, or gives them its
// functions: who calls is linked to none.
func TestThinLibraries(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	// With -O2 a call that is a function's last is a jump.
	thin := s.lib.CompileAlone(t, []string{"testdata/thin.c"}, "-shared", "-fPIC", "-O2", "-l:"+nvrtc)
	host := s.program("thin_host")
	want := s.mustRun(false, nil, host, thin)
	for _, kind := range []string{"compiled", "disk"} {
		got := s.mustRun(true, nil, host, thin)
		if got.out != want.out {
			t.Errorf("%s\nwithout the cache:\n%s", got.out, want.out)
		}
		if diff := cmp.Diff(map[string]int{kind: 2}, got.report); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
	}
}
