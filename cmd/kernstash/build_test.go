package main

import (
	"testing"

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
		got, err := parseLocalSize(s)
		if err != nil {
			got = bad
		}
		if got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

func TestCompileOptions(t *testing.T) {
	t.Parallel()
	o := buildOptions{defines: []string{"N=1", "X"}, includes: []string{"inc"}, options: "-w  -O1"}
	if got, want := o.compileOptions(), "-DN=1 -DX -Iinc -w  -O1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		counts  map[stats.Counter]int64
		against string
		waits   string
		state   buildState
		reason  string
	}{
		"built":    {counts: map[stats.Counter]int64{stats.Builds: 1, stats.DiskPuts: 1}, state: stateBuilt},
		"there":    {counts: map[stats.Counter]int64{stats.DiskHits: 1}, state: stateThere},
		"race":     {counts: map[stats.Counter]int64{stats.Builds: 1, stats.DiskPutsExisting: 1}, state: stateBuilt},
		"headers":  {against: "includes a.h", state: stateNotCacheable, reason: "includes a.h"},
		"size":     {counts: map[stats.Counter]int64{stats.Of(reason.NotCacheableSize): 1}, state: stateNotCacheable, reason: "its size is outside the limits"},
		"deferred": {waits: "launch", state: stateNotStored, reason: "launch"},
		"full": {
			counts: map[stats.Counter]int64{stats.DiskPutsDropped: 1}, state: stateNotStored,
			reason: "the cache is full; run 'kernstash gc'",
		},
		"failed put": {
			counts: map[stats.Counter]int64{stats.DiskPutFailures: 1}, state: stateNotStored,
			reason: "it could not be written; 'kernstash doctor' says why",
		},
	} {
		var s stats.Snapshot
		for c, n := range tt.counts {
			s[c] = n
		}
		var r buildResult
		r.judge(built{against: tt.against, waits: tt.waits, counts: s})
		if r.State != tt.state || r.Reason != tt.reason {
			t.Errorf("%s: %q, %q", name, r.State, r.Reason)
		}
	}
}
