//go:build linux

package intel_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
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
	s := stage.New(t, stage.PoCL)
	layer := s.WithLibrary(t)
	best := time.Hour
	for range attempts {
		var alone, under []time.Duration
		for range rounds {
			alone = append(alone, s.MustRun(t, nil, clinfo, "-l").Took)
			under = append(under, s.MustRun(t, layer, clinfo, "-l").Took)
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

// An application that builds nothing pays at most a millisecond.
func TestTimingOfListing(t *testing.T) {
	timing.Only(t)
	clinfo, err := exec.LookPath("clinfo")
	if err != nil {
		t.Fatal(err)
	}
	s := stage.New(t, stage.PoCL)
	env := s.WithLibrary(t)
	var differences []time.Duration
	for range 3 { // a busy machine has its moments
		var without, with []time.Duration
		for range 25 {
			without = append(without, s.MustRun(t, nil, clinfo, "-l").Took)
			with = append(with, s.MustRun(t, env, clinfo, "-l").Took)
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
