//go:build linux

package preload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// A library that lacks functions, and of which nobody knows what it compiles with, works
// as it did, and nothing is stored of it: so a newer one may use its own cache, and gets no option more.
func TestOldLibrary(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	for _, version := range [][]string{{"-DMAJOR=7", "-DMINOR=5"}, {"-DMAJOR=13", "-DMINOR=0"}} {
		s := newStage(t)
		flags := append([]string{"-shared", "-fPIC", "-D_GNU_SOURCE"}, version...)
		old := s.lib.CompileAlone(t, []string{"testdata/old.c"}, flags...)
		file := s.program("file")
		s.write("x.cu", "int x;\n")
		want := s.mustRun(false, nil, file, old, "x.cu", "-lineinfo")
		for range 2 {
			got := s.mustRun(true, nil, file, old, "x.cu", "-lineinfo")
			if diff := cmp.Diff(want.out, got.out); diff != "" {
				t.Errorf("%q (-without +with the cache): %s", version, diff)
			}
			if diff := cmp.Diff(one("compiled", 1), got.report); diff != "" {
				t.Errorf("%q (-want +got): %s", version, diff)
			}
		}
		if n := len(s.entries()); n != 0 {
			t.Errorf("%q: %d entries", version, n)
		}
	}
}
