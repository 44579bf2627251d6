package stats

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
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
		NotCacheableHeaders: 26, MissAbsent: 33, MissRefused: 42, NearestNothing: 43, NearestVariable: 50,
		NearestHeader: 51, NotCacheableChanged: 52, HeadersChecked: 53, HeadersScanned: 54,
		MissRefresh: 55, ObserveHits: 56, ObserveEqual: 57, ObserveDifferent: 58,
		JobsAdded: 59, JobsMerged: 60, JobsDropped: 61, JobsDone: 62, JobsRefused: 63,
		Delegated: 64, PassedBinary: 65, PassedInputs: 66, PassedOptions: 67, PassedBusy: 68, PassedOther: 69, Panics: 70,
	} {
		if int(c) != want {
			t.Errorf("%v is number %d, was %d", c, c, want)
		}
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
