//go:build linux

package preload_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// The library itself, watched by sanitizers, with threads and on every odd way.
func TestSanitizers(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	s := newStage(t)
	out := t.TempDir()
	if err := cbuild.Shim("preload", "libkernstash_preload.so", out); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, flag, runtime, options string }{
		{"asan", "-fsanitize=address,undefined", "libasan.so", "ASAN_OPTIONS=detect_leaks=0"},
		{"tsan", "-fsanitize=thread", "libtsan.so", "TSAN_OPTIONS=ignore_noninstrumented_modules=1"},
	} {
		b, err := exec.Command("gcc", "-print-file-name="+c.runtime).Output()
		if err != nil {
			t.Fatal(err)
		}
		env := []string{
			"LD_PRELOAD=" + strings.TrimSpace(string(b)) + " " + filepath.Join(out, c.name, "libkernstash_preload.so"),
			"KERNSTASH_LIBRARY=" + s.lib.Library, c.options,
		}
		observe, host := s.program("observe", c.flag), s.program("host", c.flag)
		want := s.mustRun(false, nil, s.program("observe"), "nvrtc", "odd", nvrtc)
		for range 2 {
			got := s.mustRun(false, env, observe, "nvrtc", "odd", nvrtc)
			if diff := cmp.Diff(want.out, got.out); diff != "" || strings.Contains(got.err, "Sanitizer") || strings.Contains(got.err, "runtime error") {
				t.Errorf("%s (-without +with the cache): %s\n%s", c.name, diff, tail(got.err))
			}
			got = s.mustRun(false, env, host, "threads", nvrtc, "4")
			if strings.Contains(got.err, "Sanitizer") || strings.Contains(got.err, "runtime error") {
				t.Errorf("%s: %s", c.name, tail(got.err))
			}
		}
	}
}
