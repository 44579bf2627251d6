//go:build linux

package opencl_layer_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/timing"
)

// A process that builds nothing takes at most a millisecond more under the layer. Both
// kinds run in turn; the lower quartiles are compared, and of some attempts the best
// counts, since what else the machine does makes both slower.
func TestTimingOfProcessesThatBuildNothing(t *testing.T) {
	timing.Only(t)
	clinfo, err := exec.LookPath("clinfo")
	if err != nil {
		t.Fatal(err)
	}
	const most, attempts, rounds = time.Millisecond, 6, 40
	s := newStage(t, drivers[0])
	layer := s.realLibrary(t)
	best := time.Hour
	for range attempts {
		var alone, under []time.Duration
		for range rounds {
			alone = append(alone, s.mustRun(t, nil, clinfo, "-l").took)
			under = append(under, s.mustRun(t, layer, clinfo, "-l").took)
		}
		slices.Sort(alone)
		slices.Sort(under)
		a, u := alone[rounds/4], under[rounds/4]
		t.Logf("clinfo -l: %v, under the layer %v: %v more", a, u, u-a)
		if best = min(best, u-a); best <= most {
			return
		}
	}
	t.Errorf("%v more, at most %v", best, most)
}
