//go:build linux

package hosts_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// A program that caches by itself, through the Go library, and has the layer
// beneath it does not wait for itself, and asks once. What it stored the layer
// serves to others, and the other way round.
func TestFrontEndsStacked(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	const code = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name == stage.Intel.Name {
				timing.Long(t)
			}
			t.Parallel()
			s := stage.New(t, d)
			source := s.Path("work") + "/twice.cl"
			if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			env := s.WithLibrary(t)
			for _, flags := range [][]string{nil, {"--no-options"}} {
				if flags != nil && !timing.IsLong() {
					break
				}
				build := append([]string{"build", "--local-size", "64", source}, flags...)
				for _, want := range []string{"1 built", "1 was there"} {
					// Where NULL and "" are one, the second finds the first's.
					if flags != nil && d.Name == "intel" {
						want = "1 was there"
					}
					r := s.MustRun(t, env, kernstash, build...)
					if !strings.Contains(r.Out, want) {
						t.Errorf("%s, want %s", r.Out, want)
					}
					if trace := s.Text(t, "trace"); trace == "" || strings.Contains(trace, "waiting for another process") {
						t.Errorf("it waits for itself:\n%s", trace)
					}
					if strings.Contains(r.Report, `"front_end":"opencl-layer","exe"`) {
						t.Errorf("the layer was asked too:\n%s", r.Report)
					}
				}
				if r := s.MustRun(t, env, "file", append([]string{source}, flags...)...); !strings.Contains(r.Report, `"outcome":"disk"`) {
					t.Errorf("%v: the layer did not find it:\n%s", flags, r.Report)
				}
			}
		})
	}
}

// A program that caches by itself, through the Go library, which opens the loader.
func TestFrontEndsStackedOpened(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	old := stage.Interposers(t)
	kernstash := stage.Command(t)
	s := stage.New(t, stage.PoCL)
	source := s.Path("work") + "/thrice.cl"
	if err := os.WriteFile(source, []byte("kernel void thrice(global int *a) { a[get_global_id(0)] *= 3; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(append(s.WithLibrary(t), "OPENCL_LAYERS=", "LD_LIBRARY_PATH="+old), stage.Preloaded(t, "layer")...)
	for _, want := range []string{"1 built", "1 was there"} {
		r := s.MustRun(t, env, kernstash, "build", "--local-size", "64", source)
		if !strings.Contains(r.Out, want) {
			t.Errorf("%s, want %s", r.Out, want)
		}
		if !strings.Contains(r.Report, `"front_end":"opencl-preload"`) || strings.Contains(r.Report, `"front_end":"opencl-layer","exe"`) {
			t.Errorf("not loaded, or asked too:\n%s", r.Report)
		}
	}
	env = append(env, stage.Opened("libOpenCL.so.1", "local")...)
	if r := s.MustRun(t, env, "file-opened", source); !strings.Contains(r.Report, `"outcome":"disk"`) {
		t.Errorf("not found:\n%s", r.Report)
	}
}
