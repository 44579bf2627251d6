package evict

import (
	"slices"
	"testing"
)

// TestTotalOfUnknownShards: Shards that were not counted are taken to be as
// large as others; one that is much larger than all others misleads nobody.
func TestTotalOfUnknownShards(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fill           func(l *Ledger)
		bytes, entries int64
		known          bool
		counted        int64
	}{
		"nothing is known": {func(l *Ledger) { l[3].bytes, l[3].entries = 5000, 1 }, 5000, 1, false, 0},
		"all is known": {func(l *Ledger) {
			for i := range l {
				l[i] = slot{bytes: 10, entries: 1, counted: 100 + int64(i)}
			}
		}, 10 * slots, Shards, true, 100},
		"what is shared is not": {func(l *Ledger) {
			for i := range Shards {
				l[i] = slot{bytes: 10, entries: 1, counted: 100}
			}
		}, 10 * Shards, Shards, false, 0},
		"too few are known": {func(l *Ledger) {
			for i := range 3 {
				l[i] = slot{bytes: 1000, entries: 10, counted: 1}
			}
		}, 3000, 30, false, 0},
		"some are known": {func(l *Ledger) {
			for i := range 5 {
				l[i] = slot{bytes: 1000, entries: 10, counted: 1}
			}
			l[9].bytes = 200  // written since
			l[10].bytes = 1e9 // likewise
			l[Shared] = slot{bytes: 7, counted: 1}
		}, 1000*(Shards-1) + 1e9 + 7, 10 * Shards, false, 0},
		"one is large": {func(l *Ledger) {
			for i := range 5 {
				l[i] = slot{bytes: 1000, entries: 10, counted: 1}
			}
			l[2].bytes = 1e9
		}, 1000*(Shards-1) + 1e9, 10 * Shards, false, 0},
		"drifted below nothing": {func(l *Ledger) {
			for i := range l {
				l[i] = slot{bytes: 10, entries: 1, counted: 100}
			}
			l[7].bytes = -500
		}, 10 * slots, Shards, false, 100},
	} {
		var l Ledger
		test.fill(&l)
		if got, want := l.total(), (Total{test.bytes, test.entries, test.known, test.counted}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestOrderOfCounting: what is not known comes first, in random order, then what
// was counted longest ago.
func TestOrderOfCounting(t *testing.T) {
	t.Parallel()
	var l Ledger
	for i := range 100 {
		l[i] = slot{counted: int64(1000 - i)}
	}
	l[50].bytes = -1
	first, second := l.byAge(), l.byAge()
	const unknown = Shards - 100 + 1
	for _, order := range [][]int{first, second} {
		for i, shard := range order {
			if i < unknown != (shard >= 100 || shard == 50) {
				t.Errorf("place %d: shard %d", i, shard)
			}
			if i > unknown && l[order[i-1]].counted >= l[shard].counted {
				t.Errorf("shard %d comes before %d", order[i-1], shard)
			}
		}
	}
	if slices.Equal(first, second) {
		t.Error("two programs count in the same order")
	}
}
