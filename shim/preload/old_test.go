//go:build linux

package preload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// A library that lacks functions, and of which nobody knows what it compiles with, works
// as it did, and nothing is stored of it.
func TestOldLibrary(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	s := newStage(t)
	old := s.lib.CompileAlone(t, []string{"testdata/old.c"}, "-shared", "-fPIC", "-D_GNU_SOURCE")
	file := s.program("file")
	s.write("x.cu", "int x;\n")
	want := s.mustRun(false, nil, file, old, "x.cu")
	for range 2 {
		got := s.mustRun(true, nil, file, old, "x.cu")
		if diff := cmp.Diff(want.out, got.out); diff != "" {
			t.Errorf("(-without +with the cache): %s", diff)
		}
		if diff := cmp.Diff(one("compiled", 1), got.report); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
	}
	if n := len(s.entries()); n != 0 {
		t.Errorf("%d entries", n)
	}
}
