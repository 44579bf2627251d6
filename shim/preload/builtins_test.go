//go:build linux

package preload_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NVRTC opens its builtins by name, at its first compile: where LD_LIBRARY_PATH leads to
// others than lie beside it, nothing is served that was made with these.
func TestOtherBuiltins(t *testing.T) {
	t.Parallel()
	const builtins = "libnvrtc-builtins.so.11.8"
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.cu", "extern \"C\" __global__ void k(long long *p) { *p = clock64(); }\n")
	own, err := os.ReadFile(real(t, builtins))
	if err != nil {
		t.Fatal(err)
	}
	// The build id is behind its note's name.
	id := regexp.MustCompile(`\x03\x00\x00\x00GNU\x00`).FindIndex(own)
	if id == nil || bytes.Count(own, []byte("clock64(void)")) != 1 {
		t.Fatal("these builtins are not known here")
	}
	other := bytes.Clone(own)
	other[id[1]] ^= 1
	other = bytes.Replace(other, []byte("clock64(void)"), []byte("clock46(void)"), 1)
	s.write("same/"+builtins, string(own))
	s.write("other/"+builtins, string(other))
	args := []string{"nvrtc", nvrtc, "x.cu"}
	for _, c := range []struct {
		dir, kind string
	}{
		{"nowhere", "compiled"}, {"nowhere", "disk"}, {"same", "disk"}, {"other", ""}, {"nowhere", "disk"},
	} {
		env := []string{"LD_LIBRARY_PATH=" + filepath.Join(s.work, "nowhere") + ":" + filepath.Join(s.work, c.dir)}
		want := s.mustRun(false, env, compile, args...)
		got := s.mustRun(true, env, compile, args...)
		if got.out != want.out {
			t.Errorf("%s:\n%s\nwithout the cache:\n%s", c.dir, got.out, want.out)
		}
		if c.kind == "" && got.report["disk"] == 0 {
			continue
		}
		if diff := cmp.Diff(one(c.kind, 1), got.report); diff != "" {
			t.Errorf("%s (-want +got): %s", c.dir, diff)
		}
	}
}
