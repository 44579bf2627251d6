//go:build linux

package levelzero_shim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
)

// Applications that fork, have threads, or open the loader themselves end as without the
// shim.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fork-before", "fork-after", "threads", "variable", "nothing"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			args := []string{kind, filepath.Join(built, "data")}
			want := s.run(t, nil, "host", args...)
			for _, round := range []string{"cold", "warm"} {
				r := s.run(t, s.shimmed(t), "host", args...)
				if r.code != want.code || r.out != want.out {
					t.Errorf("%s: exit %d, without the shim %d\n%s\nnot\n%s\n%s", round, r.code, want.code, r.out, want.out, r.err)
				}
				compiled, disk := r.count("compiled"), r.count("disk")
				switch {
				case kind == "nothing" && (compiled+disk != 0 || !slices.Contains(r.events, event{Event: "loaded", FrontEnd: "levelzero"})):
					t.Errorf("%s: %+v", round, r.events)
				case kind == "threads" && round == "cold" && compiled != 2:
					t.Errorf("%d compiled, want one of each", compiled)
				case kind == "variable" && (disk != 0 || compiled != 1):
					t.Errorf("%s: %+v", round, r.events)
				case kind != "nothing" && kind != "variable" && round == "warm" && (compiled != 0 || disk == 0):
					t.Errorf("%+v", r.events)
				}
			}
		})
	}
}

// An application that opens the loader itself, and asks it for its functions, is served too.
func TestOpened(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "global", "deep", "path"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how == "global" || how == "path" {
				timing.Long(t)
			}
			s := newStage(t)
			want := s.mustRun(t, nil, "opened", data("imports"), how).out
			for _, round := range []string{"cold", "warm"} {
				r := s.mustRun(t, s.shimmed(t), "opened", data("imports"), how)
				if r.out != want {
					t.Errorf("%s: %q, not %q", round, r.out, want)
				}
				if round == "warm" && r.count("disk") != 1 {
					t.Errorf("%+v", r.events)
				}
			}
		})
	}
}

// Where the library is missing, is something else, or stays out, nothing changes.
func TestWithoutTheLibrary(t *testing.T) {
	t.Parallel()
	args := []string{"fork-before", filepath.Join(built, "data")}
	s := newStage(t)
	want := s.mustRun(t, nil, "host", args...).out
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, variable, reason string }{
		{"no library", "KERNSTASH_LIBRARY=/none", "library not found"},
		{"no library at all", "KERNSTASH_LIBRARY=" + text, "library not loadable"},
		{"another library", "KERNSTASH_LIBRARY=libc.so.6", ""},
		{"switched off", "KERNSTASH_DISABLE=1", "KERNSTASH_DISABLE"},
		{"no cache", "KERNSTASH_PERSISTENT=0", "library of another release, or off"},
		{"nobody's directory", "KERNSTASH_DIR=/proc/none", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(c.name, "no library at") || c.name == "another library" || c.name == "no cache" {
				timing.Long(t)
			}
			s := newStage(t)
			r := s.mustRun(t, append(s.shimmed(t), c.variable), "host", args...)
			if r.out != want {
				t.Errorf("%q, not %q", r.out, want)
			}
			told := func(e event) bool { return e.Event == "out" && strings.Contains(e.Reason, c.reason) }
			if c.reason != "" && !slices.ContainsFunc(r.events, told) {
				t.Errorf("%+v", r.events)
			}
		})
	}
}

// A thousand modules, made and destroyed, leave nothing behind.
func TestNothingLeftBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var bytes, files int
	for range 2 {
		r := s.mustRun(t, s.shimmed(t), "host", "loop-1000", filepath.Join(built, "data"))
		if _, err := fmt.Sscanf(r.out, "bytes %d files %d", &bytes, &files); err != nil {
			t.Fatalf("%v: %q", err, r.out)
		}
	}
	t.Logf("left by 1000 modules: %d bytes, %d files", bytes, files)
	if bytes > 100_000 || files > 0 {
		t.Errorf("left by 1000 modules: %d bytes, %d files", bytes, files)
	}
}
