package builder

import (
	"testing"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

func TestParseLocalSize(t *testing.T) {
	t.Parallel()
	bad := [3]int{}
	for s, want := range map[string][3]int{
		"64": {64, 1, 1}, "16x16": {16, 16, 1}, "8x4x2": {8, 4, 2},
		"": bad, "x": bad, "0": bad, "-1": bad, "1x2x3x4": bad, "16X16": bad, "70000": bad,
	} {
		got, err := ParseLocalSize(s)
		if err != nil {
			got = bad
		}
		if got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		counts  map[stats.Counter]int64
		against string
		waits   string
		state   State
		reason  string
	}{
		"built":    {counts: map[stats.Counter]int64{stats.Builds: 1, stats.DiskPuts: 1}, state: StateBuilt},
		"there":    {counts: map[stats.Counter]int64{stats.DiskHits: 1}, state: StateThere},
		"race":     {counts: map[stats.Counter]int64{stats.Builds: 1, stats.DiskPutsExisting: 1}, state: StateBuilt},
		"headers":  {against: "includes a.h", state: StateNotCacheable, reason: "includes a.h"},
		"size":     {counts: map[stats.Counter]int64{stats.Of(reason.NotCacheableSize): 1}, state: StateNotCacheable, reason: "its size is outside the limits"},
		"deferred": {waits: "launch", state: StateNotStored, reason: "launch"},
		"full": {
			counts: map[stats.Counter]int64{stats.DiskPutsDropped: 1}, state: StateNotStored,
			reason: "the cache is full; run 'kernstash gc'",
		},
		"failed put": {
			counts: map[stats.Counter]int64{stats.DiskPutFailures: 1}, state: StateNotStored,
			reason: "it could not be written; 'kernstash doctor' says why",
		},
	} {
		var s stats.Snapshot
		for c, n := range tt.counts {
			s[c] = n
		}
		var r Result
		r.check(tool.Built{NotCacheable: tt.against, NotStored: tt.waits, Counts: s})
		if r.State != tt.state || r.Reason != tt.reason {
			t.Errorf("%s: %q, %q", name, r.State, r.Reason)
		}
	}
}
