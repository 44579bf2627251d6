//go:build linux

package fakes_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// Where the library stays out, the application runs as without the shim, and the
// reason is reported, once for each process.
func TestStaysOut(t *testing.T) {
	t.Parallel()
	stress := stage.Program(t, "stress")
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
		{"address space", []string{"KERNSTASH_LIBRARY=" + library}, []string{"/bin/sh", "-c", "ulimit -v 3000000; exec " + stress + " first"}, "no room for the library's runtime (limits, a filter), or no libkernstash-go.so.1 beside it"},
		{"data space", []string{"KERNSTASH_LIBRARY=" + library}, []string{"/bin/sh", "-c", "ulimit -d 100000; exec " + stress + " first"}, "no room for the library's runtime (limits, a filter), or no libkernstash-go.so.1 beside it"},
		{"forked", nil, []string{stress, "first", "forked"}, "forked after the library was opened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Fake)
			r := s.MustRun(t, c.env, c.args[0], c.args[1:]...)
			if want := `"reason":"` + c.reason + `"}` + "\n"; strings.Count(r.Report, want) != 1 || stage.Count(r.Report, `{"event":"out"`) != 1 {
				t.Errorf("report:\n%s\nwant one line with %s", r.Report, want)
			}
			if c.name != "disabled" && strings.Count(r.Report, `"front_end":"opencl-preload"`) != 1 {
				t.Errorf("report: %s", r.Report)
			}
		})
	}
}

// A report that has reached what the process may write is not written to: the write would end
// the process.
func TestReportAtTheLimit(t *testing.T) {
	t.Parallel()
	stress := stage.Program(t, "stress")
	for _, library := range []string{"/nonexistent/libkernstash.so.1", cbuild.Library(t).Library} {
		s := stage.New(t, stage.Fake)
		r := s.MustRun(t, []string{"KERNSTASH_LIBRARY=" + library}, "/bin/sh", "-c", "ulimit -f 0; exec "+stress+" first")
		if r.Report != "" {
			t.Errorf("report: %s", r.Report)
		}
	}
}

// The library is opened by the first build: an application that builds nothing
// does not pay for it, and a child of a parent that has built nothing may cache.
func TestOpenedByTheFirstBuild(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.PoCL)
	if r := s.MustRun(t, s.Layered(), "observe", "nothing"); r.Log != "" || !strings.Contains(r.Report, `"front_end":"opencl-layer"`) {
		t.Errorf("log %q, report %q", r.Log, r.Report)
	}
	s = stage.New(t, stage.Fake)
	if r := s.MustRun(t, nil, "stress", "forked"); stage.Count(r.Log, "opened") != 1 || stage.Count(r.Log, "built") != 3 {
		t.Errorf("child: %s", r.Log)
	}
	// A thread that is a cache itself is let through.
	if r := s.MustRun(t, nil, "stress", "aside"); r.Log != "" {
		t.Errorf("aside: %s", r.Log)
	}
}

// Under valgrind, which cannot follow a Go runtime, the library stays out, and
// the shim itself is clean.
func TestUnderValgrind(t *testing.T) {
	t.Parallel()
	valgrind := needs.Tool(t, "valgrind", "valgrind")
	s := stage.New(t, stage.Fake)
	r := s.MustRun(t, nil, valgrind, "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9",
		stage.Program(t, "stress"), "first", "rebuilds", "callbacks", "lifetimes")
	if r.Err != "" || !strings.Contains(r.Report, `"reason":"valgrind"`) || r.Log != "" {
		t.Errorf("%s\n%s\n%s", r.Err, r.Report, r.Log)
	}
}

// A loader of OpenCL 1.0 has a short table; the driver may lack arg infos.
func TestShortTable(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Driver{Name: "short"})
	args := []string{stage.Built(stage.Shim), stage.Program(t, "libfakecl.so")}
	r := s.MustRun(t, nil, "loader", args...)
	if stage.Count(r.Log, "built") != 1 || stage.Count(r.Log, "restored") != 1 || stage.Count(r.Report, `{"event":"loaded"`) != 1 {
		t.Errorf("%s\n%s", r.Log, r.Report)
	}
}

// A report that was removed is not made anew, nor is one written through a link,
// which may lead anywhere.
func TestReportIsNotMade(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.PoCL)
	gone, link, behind := s.Path("gone"), s.Path("link"), s.Path("behind")
	if err := errors.Join(os.WriteFile(behind, nil, 0o600), os.Symlink(behind, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{gone, link} {
		s.MustRun(t, append(s.Layered(), "KERNSTASH_REPORT="+path), "observe", "nothing")
	}
	if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if text := s.Text(t, "behind"); text != "" {
		t.Errorf("written through a link: %s", text)
	}
}

// Who stands between the shim and the driver, and may build with other options, is not taken
// for the driver that it is linked to.
func TestBetweenTheShimAndTheDriver(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Fake)
	r := s.MustRun(t, nil, "stress-between", "first")
	if r.Log != "" || !strings.Contains(r.Report, `"reason":"another layer stands between this one and the driver"`) {
		t.Errorf("%s\n%s", r.Log, r.Report)
	}
}

// A driver is served that is loaded where something else was, which was closed.
func TestLibraryReplaced(t *testing.T) {
	t.Parallel()
	stage.Interposers(t)
	s := stage.New(t, stage.Fake)
	args := []string{stage.Program(t, "libnodriver.so"), stage.Program(t, "libfakecl.so")}
	r := s.MustRun(t, stage.Preloaded(t, "layer"), "replaced", args...)
	if r.Out == "elsewhere\n" {
		t.Skip("NOT RUN: the dynamic linker put the second library elsewhere")
	}
	if stage.Count(r.Log, "begin build") != 1 || stage.Count(r.Report, `{"event":"out"`) != 1 {
		t.Errorf("%s\n%s\n%s", r.Out, r.Log, r.Report)
	}
}
