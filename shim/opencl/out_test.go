//go:build linux

package opencl_layer_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Where the library stays out, the application runs as without the shim, and the
// reason is reported, once for each process.
func TestStaysOut(t *testing.T) {
	t.Parallel()
	stress := filepath.Join(built, "stress")
	library := cbuild.Library(t).Library
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		reason string
	}{
		{"disabled", []string{"KERNSTASH_DISABLE=1"}, []string{stress, "first"}, "KERNSTASH_DISABLE"},
		{"no library", []string{"KERNSTASH_LIBRARY=/nonexistent/libkernstash.so.1"}, []string{stress, "first", "loop"}, "library not found"},
		{"no library, only a file", []string{"KERNSTASH_LIBRARY=/etc/passwd"}, []string{stress, "first"}, "library not loadable"},
		{"another release", []string{"FAKE=abi"}, []string{stress, "first"}, "library of another release, or off"},
		{"address space", nil, []string{"/bin/sh", "-c", "ulimit -v 3000000; exec " + stress + " first"}, "address-space limit"},
		{"data space", []string{"KERNSTASH_LIBRARY=" + library}, []string{"/bin/sh", "-c", "ulimit -d 100000; exec " + stress + " first"}, "library of another release, or off"},
		{"forked", nil, []string{stress, "first", "forked"}, "forked after the library was opened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fake)
			r := s.mustRun(t, c.env, c.args[0], c.args[1:]...)
			if want := `"reason":"` + c.reason + `"}` + "\n"; strings.Count(r.report, want) != 1 || count(r.report, `{"event":"out"`) != 1 {
				t.Errorf("report:\n%s\nwant one line with %s", r.report, want)
			}
			if c.name != "disabled" && strings.Count(r.report, `"door":"opencl-preload"`) != 1 {
				t.Errorf("report: %s", r.report)
			}
		})
	}
}

// The library is opened by the first build: an application that builds nothing
// does not pay for it, and a child of a parent that has built nothing may cache.
func TestOpenedByTheFirstBuild(t *testing.T) {
	t.Parallel()
	s := newStage(t, drivers[0])
	if r := s.mustRun(t, s.layered(), "observe", "nothing"); r.log != "" || !strings.Contains(r.report, `"door":"opencl-layer"`) {
		t.Errorf("log %q, report %q", r.log, r.report)
	}
	s = newStage(t, fake)
	if r := s.mustRun(t, nil, "stress", "forked"); count(r.log, "opened") != 1 || count(r.log, "built") != 3 {
		t.Errorf("child: %s", r.log)
	}
	// A thread that is a cache itself is let through.
	if r := s.mustRun(t, nil, "stress", "aside"); r.log != "" {
		t.Errorf("aside: %s", r.log)
	}
}

// Under valgrind, which cannot follow a Go runtime, the library stays out, and
// the shim itself is clean.
func TestUnderValgrind(t *testing.T) {
	t.Parallel()
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("NOT RUN: no valgrind: apt-get install valgrind")
	}
	s := newStage(t, fake)
	r := s.mustRun(t, nil, valgrind, "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9",
		filepath.Join(built, "stress"), "first", "rebuilds", "callbacks", "lifetimes")
	if r.err != "" || !strings.Contains(r.report, `"reason":"valgrind"`) || r.log != "" {
		t.Errorf("%s\n%s\n%s", r.err, r.report, r.log)
	}
}

// A loader of OpenCL 1.0 has a short table; the driver may lack arg infos.
func TestShortTable(t *testing.T) {
	t.Parallel()
	s := newStage(t, driver{"short", nil})
	args := []string{filepath.Join(built, shim), filepath.Join(built, "libfakecl.so")}
	r := s.mustRun(t, nil, "loader", args...)
	if count(r.log, "built") != 1 || count(r.log, "restored") != 1 || count(r.report, `{"event":"loaded"`) != 1 {
		t.Errorf("%s\n%s", r.log, r.report)
	}
}

// A report that was removed is not made anew, nor is one written through a link,
// which may lead anywhere.
func TestReportIsNotMade(t *testing.T) {
	t.Parallel()
	s := newStage(t, drivers[0])
	gone, link, behind := s.path("gone"), s.path("link"), s.path("behind")
	if err := errors.Join(os.WriteFile(behind, nil, 0o600), os.Symlink(behind, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{gone, link} {
		s.mustRun(t, append(s.layered(), "KERNSTASH_REPORT="+path), "observe", "nothing")
	}
	if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if text := s.text(t, "behind"); text != "" {
		t.Errorf("written through a link: %s", text)
	}
}
