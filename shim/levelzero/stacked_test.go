//go:build linux

package levelzero_shim_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A program that caches by itself, through the Go library, and has the shim beneath it does
// not wait for itself, and asks once. What it stored the shim serves to others, and the
// other way round.
func TestDoorsStacked(t *testing.T) {
	t.Parallel()
	host := filepath.Join(built, "gohost")
	if err := command("go", "build", "-o", host, "./testdata/gohost"); err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	env := s.shimmed(t)
	right := s.plain(t, "kernels").sum
	asked := func(e event) bool { return e.Event == "asked" && e.Door == "levelzero" }
	for _, want := range []string{"compiled\n", "disk\n"} {
		r := s.mustRun(t, env, host, data("kernels"))
		if r.out != want || r.took > 30*time.Second {
			t.Errorf("%q after %v, want %q", r.out, r.took, want)
		}
		if slices.ContainsFunc(r.events, asked) {
			t.Errorf("the shim was asked too: %+v", r.events)
		}
	}
	s.one(t, "kernels").expect(t, "what the library stored", "disk", right)
	s.one(t, "scale").expect(t, "cold", "compiled", s.plain(t, "scale").sum)
	if r := s.mustRun(t, env, host, data("scale")); r.out != "disk\n" {
		t.Errorf("what the shim stored: %q", r.out)
	}
}
