package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

// letters makes a trace of artifacts of one size and cost, one an hour, each
// in a process of its own.
func letters(keys string) (trace []request) {
	for i, k := range strings.Split(keys, "") {
		trace = append(trace, request{time.Duration(i) * time.Hour, fmt.Sprint(i), k, 10, time.Second})
	}
	return trace
}

// TestHitsByHand: with room for three of equal size, by the textbook.
func TestHitsByHand(t *testing.T) {
	t.Parallel()
	const keys = "abcadbeabca"
	for name, want := range map[string]int{
		// d drives out b, b c, e a, a d, c e; a, b and a hit.
		"plain LRU": 3,
		// d drives out a, e b, a c, b d, c e; a, b and a hit.
		"FIFO": 3,
		// d drives out c, e d, c e: all but the first requests for a to e hit, and
		// the second for c does not.
		"Belady": 5,
		// The put comes first and the evictor frees from four to two: d drives out
		// b and c, e a and d, c e and a; a and b hit.
		"lru": 2,
	} {
		if got := simulate(letters(keys), named(name), 30); got.Hits != want || got.Saved != time.Duration(want)*time.Second || got.HitBytes != int64(10*want) {
			t.Errorf("%s: %+v, want %d hits", name, got, want)
		}
	}
}

// TestCostByHand: what saves least time a byte goes first; after three half
// lives, a dear artifact is worth less than a new one that costs a fifth.
func TestCostByHand(t *testing.T) {
	t.Parallel()
	ask := func(at time.Duration, key string, cost time.Duration) request {
		return request{at, at.String(), key, 10, cost}
	}
	trace := []request{
		ask(0, "dear", 10*time.Second),
		ask(time.Hour, "cheap", time.Second), ask(2*time.Hour, "fair", 2*time.Second),
		ask(3*time.Hour, "new", 3*time.Second), // cheap and fair go
		ask(4*time.Hour, "dear", 10*time.Second),
		ask(5*time.Hour, "cheap", time.Second),
		ask(4*time.Hour+3*halfLife, "late", 2*time.Second), // three are there; new and cheap go, at 3/8 and 1/8; dear has 10/8
		ask(5*time.Hour+3*halfLife, "dear", 10*time.Second),
		ask(6*time.Hour+3*halfLife, "new", 3*time.Second),
	}
	got := simulate(trace, named("cost"), 30)
	if got.Hits != 2 || got.Saved != 20*time.Second || got.Evicted != 4 {
		t.Errorf("%+v, want two hits of the dear one and four evictions", got)
	}
}

// TestBoundByHand: a and b, each twice with the other between: both hits need
// their ten bytes for two of four requests. Room for 5 bytes at each request is
// enough for one of them; for 10, for both.
func TestBoundByHand(t *testing.T) {
	t.Parallel()
	trace := letters("abab")
	hits := func(request) float64 { return 1 }
	if got := bound(trace, 10, hits); got != 2 {
		t.Errorf("%v hits at most, want 2", got)
	}
	if got := bound(trace, 9, hits); got != 0 {
		t.Errorf("%v hits where nothing fits, want 0", got)
	}
	trace[3].cost = 3 * time.Second
	trace = append(trace, letters("ccccccc")[0])
	// 50 bytes and requests at a limit of 10; two intervals of 20 fit. At twice
	// the size, they need 40 each: the dearer one, and a quarter of the other.
	for i := range trace {
		trace[i].bytes = 20
	}
	if got := bound(trace, 20, func(q request) float64 { return q.cost.Seconds() }); got != 4 {
		t.Errorf("saves %v s at most, want 4", got)
	}
}

// TestNothingExceedsTheBound, on all traces, at a small limit.
func TestNothingExceedsTheBound(t *testing.T) {
	t.Parallel()
	traces, err := loadTraces("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces {
		requests := tr.requests[:min(len(tr.requests), 1000)]
		limit := shapeOf(requests).bytes / 8
		most := bound(requests, limit, func(request) float64 { return 1 })
		for _, p := range policies {
			if got := simulate(requests, p, limit); got.Hits == 0 || float64(got.Hits) > most {
				t.Errorf("%s, %s: %d hits, at most %.1f are possible", tr.Name, p.name, got.Hits, most)
			}
		}
	}
}

// TestSimulationIsTheStore: what the simulation says of cost and lru is what
// store/disk does, request by request.
func TestSimulationIsTheStore(t *testing.T) {
	t.Parallel()
	traces, err := loadTraces("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces[:3] {
		requests := realistic(tr.requests[:min(len(tr.requests), 300)])
		limit := shapeOf(requests).bytes / 6
		for _, p := range []disk.Policy{disk.Cost, disk.LRU} {
			if err := agree(t.Context(), requests, p, limit); err != nil {
				t.Errorf("%s: %v", tr.Name, err)
			}
			if o := simulate(requests, named(p.String()), limit); o.Hits == 0 || o.Evicted == 0 {
				t.Errorf("%s: nothing is shown by %+v", tr.Name, o)
			}
		}
	}
}

// TestGroupsAreTheStores: with more artifacts than are ranked at once, half of them of one
// image, the store does nearly what the simulation says. The image's are newer, so hardly
// one of these goes.
func TestGroupsAreTheStores(t *testing.T) {
	t.Parallel()
	const n, bytes = 1000, 10 * block
	var trace []request
	ask := func(key string, of, n int) {
		for i := range n {
			trace = append(trace, request{time.Duration(len(trace)) * time.Minute, fmt.Sprint(len(trace)), fmt.Sprint(key, i%of), bytes, time.Second})
		}
	}
	ask("old", 3*n/2, 3*n/2)
	ask("program/", n, n)
	ask("new", n/5, n/5)
	ask("program/", n, n)
	for _, p := range []disk.Policy{disk.LRU, disk.Cost} {
		limit := int64(2100 * bytes)
		if err := agree(t.Context(), trace, p, limit); err != nil {
			t.Error(err)
		}
		if o := simulate(trace, named(p.String()), limit); !o.Grouped || o.Hits < n*95/100 || o.Evicted < n*60/100 {
			t.Errorf("%v: %+v", p, o)
		}
	}
}

// TestGroupsSaveAsMuchAsExactRanks: on every trace, with limits from 5 to 50 % of the bytes of all artifacts, a cache that
// ranks many artifacts in groups saves at least 0.95 of the build time that one saves which ranks all of them.
func TestGroupsSaveAsMuchAsExactRanks(t *testing.T) {
	t.Parallel()
	const least = 0.95
	traces, err := loadTraces("")
	if err != nil {
		t.Fatal(err)
	}
	grouped, worst := 0, math.Inf(1)
	for _, tr := range traces {
		for _, fraction := range fractions {
			if fraction > 0.5 {
				continue
			}
			limit := int64(fraction * float64(shapeOf(tr.requests).bytes))
			for _, p := range []disk.Policy{disk.Cost, disk.LRU} {
				ours := simulate(tr.requests, named(p.String()), limit)
				s := newSimulation(named(p.String()), limit)
				s.exact = math.MaxInt64
				exactly := s.replay(tr.requests)
				if ours.Grouped {
					grouped++
				}
				ratio := ours.Saved.Seconds() / exactly.Saved.Seconds()
				worst = min(worst, ratio)
				if ratio < least {
					t.Errorf("%s, %v at %.0f %%: saves %.3f of what exact ranks do", tr.Name, p, 100*fraction, ratio)
				}
			}
		}
	}
	t.Logf("the worst: %.3f; groups were ranked in %d", worst, grouped)
	if grouped == 0 {
		t.Error("no trace has so many artifacts that groups are ranked")
	}
}
