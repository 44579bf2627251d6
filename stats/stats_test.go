package stats

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/reason"
)

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := make(map[string]Counter)
	for c := range Counter(NumCounters) {
		name := c.String()
		if before, twice := seen[name]; twice || name == "" || strings.ToLower(name) != name {
			t.Errorf("counter %d is called %q, as is %d", c, name, before)
		}
		seen[name] = c
	}
	if Counter(-1).String() != "unknown" || Counter(NumCounters).String() != "unknown" {
		t.Error("counters that do not exist have names")
	}
}

// The numbers are on disk: a counter that moves makes old totals lie.
func TestNumbersAreFixed(t *testing.T) {
	t.Parallel()
	for c, want := range map[Counter]int{
		MemoryHits: 0, DiskHits: 4, DiskMisses: 5, DiskPuts: 8, Corrupt: 17, Builds: 18, SavedTime: 22,
		Of(reason.NotCacheableHeaders): 26, Of(reason.MissAbsent): 33, Of(reason.MissRefused): 42, Of(reason.NearestNothing): 43, Of(reason.NearestVariable): 50,
		Of(reason.NearestHeader): 51, Of(reason.NotCacheableChanged): 52, HeadersChecked: 53, HeadersScanned: 54,
		Of(reason.MissRefresh): 55, Of(reason.ObserveHits): 56, ObserveEqual: 57, ObserveDifferent: 58,
		JobsAdded: 59, JobsMerged: 60, JobsDropped: 61, JobsDone: 62, JobsRefused: 63,
		Delegated: 64, Of(reason.PassedBinary): 65, Of(reason.PassedInputs): 66, Of(reason.PassedOptions): 67, Of(reason.PassedBusy): 68, Of(reason.PassedOther): 69, Of(reason.PassedPanic): 70,
	} {
		if int(c) != want {
			t.Errorf("%v is number %d, was %d", c, c, want)
		}
	}
}

// Each reason is counted, by its name, and none by no counter.
func TestReasonsAreCounted(t *testing.T) {
	t.Parallel()
	for r := reason.MissAbsent; r <= reason.PassedPanic; r++ {
		if c := Of(r); c < 0 || c.String() != r.String() {
			t.Errorf("%v is counted by %d, %v", r, c, c)
		}
	}
	var k Counters
	k.Add(Of(0), 1)
	if k.Snapshot() != (Snapshot{}) {
		t.Error("no reason is counted")
	}
}

func TestCountersAndSnapshots(t *testing.T) {
	t.Parallel()
	var k Counters
	var other Counters
	r := Tee(&k, &other, Noop{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				r.Add(Builds, 1)
				r.Add(BuildTime, 3)
				r.Add(Counter(NumCounters), 1) // ignored
				r.Add(-1, 1)
			}
		})
	}
	all.Wait()
	s := k.Snapshot()
	if s.Get(Builds) != 8000 || s.Duration(BuildTime) != 24000 || other.Snapshot() != s {
		t.Errorf("counted %v", s)
	}
	k.Add(Builds, 5)
	diff := k.Snapshot().Sub(s)
	if diff.Get(Builds) != 5 || diff.Get(BuildTime) != 0 || s.Plus(diff) != k.Snapshot() {
		t.Errorf("difference %v", diff)
	}
	b, err := json.Marshal(diff)
	if err != nil || string(b) != `{"build.count":5}` {
		t.Errorf("JSON %s, %v", b, err)
	}
	var back Snapshot
	if err := json.Unmarshal([]byte(`{"build.count":5,"of another version":1}`), &back); err != nil || back != diff {
		t.Errorf("back from JSON: %v, %v", back, err)
	}
}
