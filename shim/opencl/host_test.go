//go:build linux

package opencl_layer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// realLibrary is layered with the library itself, which keeps its cache in the
// stage, and no worker.
func (s *stage) realLibrary(t *testing.T) []string {
	t.Helper()
	return append(s.layered(), "KERNSTASH_LIBRARY="+cbuild.Library(t).Library, "KERNSTASH_DIR="+s.path("cache"), "KERNSTASH_WORKER=off",
		"KERNSTASH_TRACE=disk", "KERNSTASH_TRACE_FILE="+s.path("trace"))
}

// All that can be observed is the same with the library itself.
func TestObservedTheSameWithTheLibrary(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			env := s.realLibrary(t)
			parts := "options,run,rebuild,lifetimes,separately,modules"
			without := normal(s.mustRun(t, nil, "observe", parts).out)
			for _, name := range []string{"cold", "warm"} {
				if diff := cmp.Diff(without, normal(s.mustRun(t, env, "observe", parts).out)); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
			}
			// PoCL's code is made when a kernel is launched: the worker stores it.
			if hits := strings.Count(s.text(t, "trace"), "msg=hit"); d.name == "intel" && hits < 20 {
				t.Errorf("%d hits", hits)
			}
		})
	}
}

// Applications with signal handlers, children, threads of their own, that close
// the loader, or release at exit, end as without the layer.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		names := []string{"signals-before", "signals-after", "closing", "fork-before", "fork-after", "threads", "exiting", "urgently", "loading", "closing-all"}
		if d.name == "intel" { // which compiles for longer
			names = []string{"signals-before", "fork-after", "urgently", "loading", "closing-all"}
			if os.Getenv("KERNSTASH_TEST_LONG") == "1" {
				names = append(names, "threads")
			}
		}
		for _, name := range names {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, d)
				want := s.run(t, nil, "host", name)
				for _, round := range []string{"cold", "warm"} {
					r := s.run(t, s.realLibrary(t), "host", name)
					if r.code != want.code || r.out != want.out {
						t.Errorf("%s: exit %d, without the layer %d\n%s\n%s", round, r.code, want.code, r.out, r.err)
					}
				}
			})
		}
	}
}

// A host that is written in Go has a runtime of its own, and signals that it
// needs.
func TestGoHost(t *testing.T) {
	t.Parallel()
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(built, "gohost")
	cmd := exec.Command("go", "build", "-o", host, "./testdata/gohost")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			for _, c := range []struct {
				name string
				env  []string
			}{{"without the layer", nil}, {"cold", s.realLibrary(t)}, {"warm", s.realLibrary(t)}} {
				// One that hangs says where.
				r := s.run(t, c.env, timeout, "-s", "QUIT", "-k", "5", "60", host)
				if r.code != 0 || r.out != "good true\n" {
					t.Errorf("%s: exit %d, %q\n%s", c.name, r.code, r.out, r.err)
				}
			}
		})
	}
}

// A thousand programs, built and released, leave nothing behind.
func TestNothingLeftBehind(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			// The fake library has binaries of PoCL, too.
			env := s.realLibrary(t)
			if d.name == "pocl" {
				env = s.layered()
			}
			// Drivers keep some for each program, restored or not; without the layer
			// each is compiled, so that there are fewer.
			var bytes, files, threads [3]int
			for i, c := range []struct {
				env  []string
				name string
			}{{nil, "loop-10"}, {env, "loop-10"}, {env, "loop-1000"}} {
				r := s.mustRun(t, c.env, "host", c.name)
				if _, err := fmt.Sscanf(r.out, "bytes %d files %d threads %d", &bytes[i], &files[i], &threads[i]); err != nil {
					t.Fatalf("%v: %q", err, r.out)
				}
			}
			t.Logf("bytes left by 10 programs without the layer: %d; by 1000 with it: %d; files %d, threads %d",
				bytes[0], bytes[2], files[2], threads[2])
			// The cache directory is opened once in a process, with four descriptors
			// to write there: on a busy machine after they were counted first.
			if bytes[2] > 100*max(bytes[0], 0)+100_000 || files[2] > files[0]+4 || threads[2] > threads[0]+4 {
				t.Errorf("more is left with the layer: files %d, threads %d without", files[0], threads[0])
			}
		})
	}
}

// An application that builds nothing pays at most a millisecond.
func TestTimingOfListing(t *testing.T) {
	timing.Only(t)
	clinfo, err := exec.LookPath("clinfo")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, drivers[0])
	env := s.realLibrary(t)
	var differences []time.Duration
	for range 3 { // a busy machine has its moments
		var without, with []time.Duration
		for range 25 {
			without = append(without, s.mustRun(t, nil, clinfo, "-l").took)
			with = append(with, s.mustRun(t, env, clinfo, "-l").took)
		}
		slices.Sort(without)
		slices.Sort(with)
		d := with[len(with)/2] - without[len(without)/2]
		t.Logf("clinfo -l: %v, with the layer %v", without[len(without)/2], with[len(with)/2])
		if differences = append(differences, d); d <= time.Millisecond {
			return
		}
	}
	t.Errorf("clinfo -l takes longer by %v", differences)
}
