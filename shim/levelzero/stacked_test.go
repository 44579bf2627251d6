//go:build linux

package levelzero_shim_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A program that caches by itself, through the Go library, and has the shim beneath it does
// not wait for itself, and asks once. What it stored the shim serves to others, and the
// other way round.
func TestFrontEndsStacked(t *testing.T) {
	t.Parallel()
	host := filepath.Join(built, "gohost")
	if err := command("go", "build", "-o", host, "./testdata/gohost"); err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	trace := s.path("trace")
	env := append(s.shimmed(t), "KERNSTASH_TRACE=disk", "KERNSTASH_TRACE_FILE="+trace)
	right := s.plain(t, "kernels").sum
	asked := func(e event) bool { return e.Event == "asked" && e.FrontEnd == "levelzero" }
	for _, want := range []string{"compiled\n", "disk\n"} {
		r := s.mustRun(t, env, host, data("kernels"))
		if r.out != want {
			t.Errorf("%q, want %q", r.out, want)
		}
		if b, err := os.ReadFile(trace); err != nil || bytes.Contains(b, []byte("waiting for another process")) {
			t.Errorf("it waits for itself: %v\n%s", err, b)
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
