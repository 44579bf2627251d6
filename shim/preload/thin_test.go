//go:build linux

package preload_test

import (
	"strings"
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

// Another one that is preloaded, and stands before the compiler behind us, is called as it
// was: also by a library that is linked to the compiler.
func TestAnotherOneInBetween(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	between := s.lib.CompileAlone(t, []string{"testdata/between.c"}, "-shared", "-fPIC", "-ldl")
	host, local := s.program("host"), plugin(t, s)
	want := s.mustRun(false, []string{"LD_PRELOAD=" + between}, host, "plugin", local)
	if !strings.HasPrefix(want.out, "in between\n") {
		t.Fatalf("%q", want.out)
	}
	for range 2 {
		preloaded := s.preload
		s.preload += ":" + between
		got := s.mustRun(true, nil, host, "plugin", local)
		s.preload = preloaded
		if got.out != want.out {
			t.Errorf("%q, want %q", got.out, want.out)
		}
	}
}
