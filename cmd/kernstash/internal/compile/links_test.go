//go:build linux

package compile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestLinksToOthers: a link of a compiler's name may lead to a program that runs any compiler; one that leads
// to a compiler is one.
func TestLinksToOthers(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(ptxas(t))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string][2]int64{"ccache": {0, 0}, "12.4/ptxas": {1, 1}} {
		p := newPlace(t)
		path := filepath.Join(p.dir, target)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := needs.WriteProgram(path, b, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(p.dir, "ptxas")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r := p.served("./ptxas", "-arch=sm_80", "k.ptx", "-o", "o"); r.Status != 0 || r.Messages != "" {
				t.Errorf("%+v", r)
			}
		}
		p.wantCounts(want[0], want[1])
	}
}
