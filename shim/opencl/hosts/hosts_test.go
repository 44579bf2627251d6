//go:build linux

package hosts_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// Applications with signal handlers, children, threads of their own, that close
// the loader, or release at exit, end as without the layer. The short form has those that
// differ most; TestHostsOpened has one that forks on PoCL.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, d := range stage.Drivers {
		names := []string{"signals-before", "threads"}
		if d.Name == "intel" { // which compiles for longer
			names = []string{"fork-after", "loading-beside"} // PoCL waits for itself there
		}
		if timing.IsLong() {
			names = []string{"signals-before", "closing", "fork-after", "threads", "urgently", "loading", "closing-all"}
			if d.Name != "intel" {
				names = append(names, "signals-after", "fork-before", "exiting")
			} else {
				names = append(names, "loading-beside")
			}
		}
		for _, name := range names {
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := stage.New(t, d)
				want := s.Run(t, nil, "host", name)
				for _, round := range []string{"cold", "warm"} {
					r := s.Run(t, s.WithLibrary(t), "host", name)
					if r.Code != want.Code || r.Out != want.Out {
						t.Errorf("%s: exit %d, without the layer %d\n%s\n%s", round, r.Code, want.Code, r.Out, r.Err)
					}
				}
			})
		}
	}
}

// A host that is written in Go has a runtime of its own, and signals that it
// needs. The long form has all drivers.
func TestGoHost(t *testing.T) {
	t.Parallel()
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "gohost")
	cmd := exec.Command("go", "build", "-o", host, "../testdata/gohost")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	drivers := stage.Drivers
	if !timing.IsLong() {
		drivers = []stage.Driver{stage.PoCL}
	}
	for _, d := range drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, d)
			for _, c := range []struct {
				name string
				env  []string
			}{{"without the layer", nil}, {"cold", s.WithLibrary(t)}, {"warm", s.WithLibrary(t)}} {
				// One that hangs says where.
				r := s.Run(t, c.env, timeout, "-s", "QUIT", "-k", "5", "60", host)
				if r.Code != 0 || r.Out != "good true\n" {
					t.Errorf("%s: exit %d, %q\n%s", c.name, r.Code, r.Out, r.Err)
				}
			}
		})
	}
}

// Fifty programs, in the long form a thousand, built and released, leave nothing behind.
func TestNothingLeftBehind(t *testing.T) {
	t.Parallel()
	many, times := "loop-50", 5
	if timing.IsLong() {
		many, times = "loop-1000", 100
	}
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name == "intel" {
				timing.Long(t)
			}
			s := stage.New(t, d)
			// The fake library has binaries of PoCL, too.
			env := s.WithLibrary(t)
			if d.Name == "pocl" {
				env = s.Layered()
			}
			// Drivers keep some for each program, restored or not; without the layer
			// each is compiled, so that there are fewer.
			var bytes, files, threads [3]int
			for i, c := range []struct {
				env  []string
				name string
			}{{nil, "loop-10"}, {env, "loop-10"}, {env, many}} {
				r := s.MustRun(t, c.env, "host", c.name)
				if _, err := fmt.Sscanf(r.Out, "bytes %d files %d threads %d", &bytes[i], &files[i], &threads[i]); err != nil {
					t.Fatalf("%v: %q", err, r.Out)
				}
			}
			t.Logf("bytes left by 10 programs without the layer: %d; by %s with it: %d; files %d, threads %d",
				bytes[0], many, bytes[2], files[2], threads[2])
			// The cache directory is opened once in a process, with four descriptors
			// to write there: on a busy machine after they were counted first.
			if bytes[2] > times*max(bytes[0], 0)+100_000 || files[2] > files[0]+4 || threads[2] > threads[0]+4 {
				t.Errorf("more is left with the layer: files %d, threads %d without", files[0], threads[0])
			}
		})
	}
}

// Unusual applications, which open the loader and fork, close it, have threads; with the
// library itself.
func TestHostsOpened(t *testing.T) {
	t.Parallel()
	old := stage.Interposers(t)
	names := []string{"fork-after", "loading"}
	if timing.IsLong() {
		names = append(names, "closing", "threads", "signals-before", "fork-before", "exiting", "closing-all")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.PoCL)
			want := s.Run(t, nil, "host", name)
			env := append(s.WithLibrary(t), "OPENCL_LAYERS=", "LD_LIBRARY_PATH="+old)
			for _, frontEnd := range []string{"preload", "layer"} {
				r := s.Run(t, append(env, stage.Preloaded(t, frontEnd)...), "host", name)
				if r.Code != want.Code || r.Out != want.Out {
					t.Errorf("%s: exit %d, without the cache %d\n%s\n%s", frontEnd, r.Code, want.Code, r.Out, r.Err)
				}
				// A module that is linked is served where the layer is preloaded.
				if !strings.Contains(r.Report, `"front_end":"opencl-preload"`) && (name != "loading" || frontEnd == "preload") {
					t.Errorf("%s: not served:\n%s", frontEnd, r.Report)
				}
			}
		})
	}
}
