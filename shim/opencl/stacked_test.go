//go:build linux

package opencl_layer_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// commandBuilt builds the command, once.
var commandBuilt = sync.OnceValues(func() (string, error) {
	to := filepath.Join(built, "kernstash")
	return to, command("go", "build", "-o", to, "../../cmd/kernstash")
})

// A program that caches by itself, through the Go library, and has the layer
// beneath it does not wait for itself, and asks once. What it stored the layer
// serves to others, and the other way round.
func TestDoorsStacked(t *testing.T) {
	t.Parallel()
	kernstash, err := commandBuilt()
	if err != nil {
		t.Fatal(err)
	}
	const code = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			source := s.path("work") + "/twice.cl"
			if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			env := s.realLibrary(t)
			for _, flags := range [][]string{nil, {"--no-options"}} {
				build := append([]string{"build", "--local-size", "64", source}, flags...)
				for _, want := range []string{"1 built", "1 was there"} {
					// Where NULL and "" are one, the second finds the first's.
					if flags != nil && d.name == "intel" {
						want = "1 was there"
					}
					r := s.mustRun(t, env, kernstash, build...)
					if !strings.Contains(r.out, want) || r.took > 30*time.Second {
						t.Errorf("%v: %s, want %s", r.took, r.out, want)
					}
					if strings.Contains(r.report, `"door":"opencl-layer","exe"`) {
						t.Errorf("the layer was asked too:\n%s", r.report)
					}
				}
				if r := s.mustRun(t, env, "file", append([]string{source}, flags...)...); !strings.Contains(r.report, `"outcome":"disk"`) {
					t.Errorf("%v: the layer did not find it:\n%s", flags, r.report)
				}
			}
		})
	}
}
