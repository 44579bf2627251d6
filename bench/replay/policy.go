package main

import (
	"cmp"
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// held is an artifact in a simulated cache.
type held struct {
	key    string
	bytes  int64
	cost   time.Duration
	stored int           // at which request it came
	used   time.Duration // when its use was last recorded, by the policy's rules
	last   int           // the last request for it
	uses   int
	noted  int     // uses that were recorded, by the policy's rules
	next   int     // the next request for it, math.MaxInt for none
	h      float64 // GDSF's
}

// policy decides what goes first. less says that a goes before b.
type policy struct {
	name string
	less func(s *simulation, a, b *held) bool
	ours bool // it evicts and records as store/disk does
}

// policies are all that are compared; the bound is no policy. cost and lru are
// store/disk's. The two after them are not there: they say what another aging
// would bring, and a count of the uses that are recorded anyway.
var policies = []policy{
	{"cost", func(s *simulation, a, b *held) bool {
		if x, y := worth(a, s.now, halfLife), worth(b, s.now, halfLife); x != y {
			return x < y
		}
		return a.used < b.used
	}, true},
	{"lru", func(_ *simulation, a, b *held) bool { return a.used < b.used }, true},
	{"cost, halved in 2 days", func(s *simulation, a, b *held) bool {
		return worth(a, s.now, 2*24*time.Hour) < worth(b, s.now, 2*24*time.Hour)
	}, true},
	{"cost × uses, halved in 2 days", func(s *simulation, a, b *held) bool {
		return float64(a.noted)*worth(a, s.now, 2*24*time.Hour) < float64(b.noted)*worth(b, s.now, 2*24*time.Hour)
	}, true},
	{"plain LRU", func(_ *simulation, a, b *held) bool { return a.last < b.last }, false},
	{"GDSF", func(_ *simulation, a, b *held) bool { return a.h < b.h }, false},
	{"FIFO", func(_ *simulation, a, b *held) bool { return a.stored < b.stored }, false},
	{"random", nil, false},
	{"Belady", func(_ *simulation, a, b *held) bool { return a.next > b.next }, false},
}

// halfLife is store/disk's: the time without use after which an artifact counts
// half as much.
const halfLife = 7 * 24 * time.Hour

// worth is what store/disk's cost policy ranks by.
func worth(e *held, now, halfLife time.Duration) float64 {
	age := float64(max(now-e.used, 0)) / float64(halfLife)
	return float64(e.cost) / float64(e.bytes) * math.Exp2(-age)
}

// accessEvery is store/disk's: how often the use of an entry is recorded.
const accessEvery = time.Second

// outcome is what a policy achieved.
type outcome struct {
	Hits     int           `json:"hits"`
	HitBytes int64         `json:"hit_bytes"`
	Saved    time.Duration `json:"saved_ns"`
	Evicted  int           `json:"evicted"`
	Grouped  bool          `json:"grouped"` // there were so many artifacts that it evicted by groups
}

// simulation replays a trace.
type simulation struct {
	policy policy
	limit  int64
	now    time.Duration
	held   map[string]*held
	order  []*held // the same, in no order
	total  int64
	clock  float64 // GDSF's
	random *rand.Rand

	exact   int64 // a cache of fewer artifacts ranks all of them
	grouped bool
	trimmed [256]time.Duration // when each shard was last counted

	process  string
	recorded map[string]time.Duration // uses that the process has recorded
}

// simulate replays a trace under a limit.
func simulate(trace []request, p policy, limit int64) outcome {
	return newSimulation(p, limit).replay(trace)
}

func newSimulation(p policy, limit int64) *simulation {
	return &simulation{
		policy: p, limit: limit, held: make(map[string]*held), exact: exact,
		recorded: make(map[string]time.Duration), random: rand.New(rand.NewPCG(1, 2)),
	}
}

func (s *simulation) replay(trace []request) (out outcome) {
	next := nextUses(trace)
	for i, q := range trace {
		s.now = q.at
		if q.process != s.process {
			s.process = q.process
			clear(s.recorded)
		}
		e := s.held[q.key]
		if e != nil {
			out.Hits++
			out.HitBytes += q.bytes
			out.Saved += q.cost
			s.hit(e, i)
			e.next = next[i]
			continue
		}
		if q.bytes > s.limit {
			continue
		}
		e = &held{key: q.key, bytes: q.bytes, cost: q.cost, stored: i, used: q.at, last: i, uses: 1, noted: 1, next: next[i]}
		e.h = s.gdsf(e)
		if s.policy.ours {
			// The put comes first; then the evictor frees.
			s.add(e)
			out.Evicted += s.trim()
			continue
		}
		out.Evicted += s.evictTo(s.limit - q.bytes)
		s.add(e)
	}
	out.Grouped = s.grouped
	return out
}

func (s *simulation) hit(e *held, i int) {
	e.last = i
	e.uses++
	e.h = s.gdsf(e)
	if was, ok := s.recorded[e.key]; !ok || s.now.Truncate(time.Second)-was.Truncate(time.Second) >= accessEvery {
		s.recorded[e.key] = s.now
		e.used = s.now
		e.noted++
	}
}

// gdsf is Greedy-Dual-Size-Frequency's value: uses times cost by size, above a
// clock that rises with what was evicted.
func (s *simulation) gdsf(e *held) float64 {
	return s.clock + float64(e.uses)*float64(e.cost)/float64(e.bytes)
}

func (s *simulation) add(e *held) {
	s.held[e.key] = e
	s.order = append(s.order, e)
	s.total += e.bytes
}

// Bounds of store/disk/evict: a root of fewer entries is ranked as a whole, a larger
// one in groups of about so many.
const (
	exact = 1024
	group = 256
)

// trim evicts as store/disk does: to two thirds of the limit, or, of many entries,
// groups to their share of that, in random order, until there is some room.
func (s *simulation) trim() (evicted int) {
	down, entries := s.limit/3*2, int64(len(s.order))
	if entries < s.exact {
		if s.total <= s.limit {
			return 0
		}
		return s.evictTo(down)
	}
	above := s.limit - max(s.limit/16, min(s.limit/8, s.limit/entries*512))
	if s.total <= above {
		return 0
	}
	groups := s.groups(entries)
	s.grouped = len(groups) > 1
	order, n := s.random.Perm(len(groups)), len(groups)
	at := func(g int) time.Duration { return slices.Max(s.trimmed[g*256/n : (g+1)*256/n]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	for _, g := range order {
		if s.total <= above {
			break
		}
		for shard := g * 256 / n; shard < (g+1)*256/n; shard++ {
			s.trimmed[shard] = s.now.Truncate(time.Second)
		}
		slices.SortFunc(groups[g], func(a, b *held) int {
			switch {
			case s.policy.less(s, a, b):
				return -1
			case s.policy.less(s, b, a):
				return 1
			}
			return 0
		})
		var bytes int64
		for _, e := range groups[g] {
			bytes += e.bytes
		}
		share := int64(float64(s.total-down) * float64(bytes) / float64(s.total))
		for _, e := range groups[g] {
			if share <= 0 {
				break
			}
			share -= e.bytes
			s.total -= e.bytes
			delete(s.held, e.key)
			evicted++
		}
	}
	s.order = slices.DeleteFunc(s.order, func(e *held) bool { return s.held[e.key] != e })
	return evicted
}

// groups returns what is ranked together: the entries of some shards, and a slice of each
// shard that is large, since it has an image with many options.
func (s *simulation) groups(entries int64) [][]*held {
	n := 1
	for n < 64 && int64(2*n)*group <= entries {
		n *= 2
	}
	digest := func(text string) int { return int(sha256.Sum256([]byte(text))[0]) }
	var shards [256][]*held
	for _, e := range s.order {
		shard := digest(imageOf(e.key))
		shards[shard] = append(shards[shard], e)
	}
	groups := make([][]*held, n)
	for shard, all := range shards {
		for _, e := range all {
			at := shard
			if int64(len(all)) > 2*entries/256+8 {
				at = digest(e.key)
			}
			groups[at*n/256] = append(groups[at*n/256], e)
		}
	}
	return groups
}

// evictTo evicts until the total is at most bytes.
func (s *simulation) evictTo(bytes int64) (evicted int) {
	if s.policy.ours && s.total > bytes { // many go at a time
		slices.SortFunc(s.order, func(a, b *held) int {
			switch {
			case s.policy.less(s, a, b):
				return 1 // the first to go last, where it is cheap to take
			case s.policy.less(s, b, a):
				return -1
			}
			return 0
		})
	}
	for s.total > bytes {
		at := s.victim()
		e := s.order[at]
		s.order[at] = s.order[len(s.order)-1]
		s.order = s.order[:len(s.order)-1]
		delete(s.held, e.key)
		s.total -= e.bytes
		s.clock = max(s.clock, e.h)
		evicted++
	}
	return evicted
}

func (s *simulation) victim() int {
	switch {
	case s.policy.ours:
		return len(s.order) - 1
	case s.policy.less == nil:
		return s.random.IntN(len(s.order))
	}
	best := 0
	for i, e := range s.order {
		if s.policy.less(s, e, s.order[best]) {
			best = i
		}
	}
	return best
}

// nextUses returns for each request the index of the next one for its key,
// math.MaxInt for none.
func nextUses(trace []request) []int {
	next := make([]int, len(trace))
	seen := make(map[string]int)
	for i := len(trace) - 1; i >= 0; i-- {
		next[i] = math.MaxInt
		if at, ok := seen[trace[i].key]; ok {
			next[i] = at
		}
		seen[trace[i].key] = i
	}
	return next
}
