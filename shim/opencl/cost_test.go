//go:build linux

package opencl_layer_test

import (
	"fmt"
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

// A cold start, whose program is compiled, stored and left to others, is delayed by two
// percent at most: one round of some has to be as quiet as that.
func TestTimingOfColdStarts(t *testing.T) {
	timing.Only(t)
	b := newBuilder(t)
	source := b.source(t, heavySource(6, 18))
	const attempts, rounds = 4, 3
	for attempt := range attempts {
		var alone, under []float64
		for round := range rounds {
			alone = append(alone, b.process(t, nil, source, "", "1").first)
			fresh := "KERNSTASH_DIR=" + b.path(fmt.Sprintf("cache%d-%d", attempt, round))
			m := b.process(t, append(slices.Clone(b.layer), fresh), source, "", "1")
			if m.outcome != "compiled" {
				t.Fatalf("cold: %s", m.outcome)
			}
			under = append(under, m.first)
		}
		a, u := slices.Min(alone), slices.Min(under)
		t.Logf("the first build: %.0f ms, under the layer %.0f ms: %+.2f %%", a/1e3, u/1e3, (u/a-1)*100)
		if u <= 1.02*a {
			return
		}
	}
	t.Error("want at most 2 %")
}
