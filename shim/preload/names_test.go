//go:build linux

package preload_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
)

// A program looks hundreds of names up as it starts: one that is in no table costs next to nothing more.
func TestTimingOfNames(t *testing.T) {
	timing.Only(t)
	s := newStage(t)
	names := s.lib.CompileAlone(t, []string{filepath.Join("testdata", "names.c")}, "-D_GNU_SOURCE", "-ldl")
	least := func(with bool) (ns int) {
		t.Helper()
		if _, err := fmt.Sscan(s.mustRun(with, nil, names).out, &ns); err != nil {
			t.Fatal(err)
		}
		return ns
	}
	with, without := least(true), least(false)
	t.Logf("%d ns, without the library %d ns", with, without)
	if most := without + 200; with > most {
		t.Errorf("dlsym takes %d ns, want at most %d", with, most)
	}
}
