package main

import (
	"fmt"
	"runtime"
	"sort"
	"time"
)

// side is one side of a comparison: it does its operation n times.
type side func(n int)

// peer is somebody else's way to do what a row does.
type peer struct {
	name string
	side side
}

// row compares ours with theirs, the bare operation, and with peers.
type row struct {
	name         string
	ours, theirs side
	peers        []peer
	bar          bar
	noAllocs     bool        // ours must not allocate
	fixed        int         // so many operations a round; 0: as many as fill a slice
	more         int         // so many times as many rounds, where one has few operations
	most         int         // rounds at most, where one takes long; 0: no bound
	prepare      func(n int) // before ours does n operations, not measured
	pause        func()      // after ours, not measured
}

// bar is what a row must keep to: ours ≤ factor × theirs + extra, a row without
// a bare operation to extra alone. If rate is set it is instead: ours per second
// ≥ rate × theirs per second. The zero bar says nothing.
type bar struct {
	factor float64
	extra  time.Duration
	rate   float64
}

func (b bar) String() string {
	switch {
	case b == bar{}:
		return "–"
	case b.rate > 0:
		return fmt.Sprintf("≥ %g × the rate", b.rate)
	case b.factor == 0:
		return fmt.Sprintf("≤ %v", b.extra)
	case b.extra > 0:
		return fmt.Sprintf("≤ %g × + %v", b.factor, b.extra)
	}
	return fmt.Sprintf("≤ %g ×", b.factor)
}

func (b bar) holds(ours, theirs float64) bool {
	switch {
	case b == bar{}:
		return true
	case b.rate > 0:
		return theirs >= b.rate*ours
	}
	return ours <= b.factor*theirs+float64(b.extra)
}

// result is what a row showed.
type result struct {
	Group  string        `json:"group"`
	Name   string        `json:"name"`
	Ours   time.Duration `json:"ours_ns"`
	Theirs time.Duration `json:"theirs_ns,omitempty"`
	Ratio  float64       `json:"ratio,omitempty"` // the median of the rounds' ratios
	Allocs *float64      `json:"allocs,omitempty"`
	Bar    string        `json:"bar"`
	Within bool          `json:"within"`
	Peers  []peerResult  `json:"peers,omitempty"`
}

// peerResult is a peer's time, and how many times as long it takes as ours.
type peerResult struct {
	Name  string        `json:"name"`
	Time  time.Duration `json:"ns"`
	Ratio float64       `json:"ratio"`
}

// slice is how long one measurement of one side takes, where a row does not say
// how many operations it has. It is short, so that on a busy machine most slices
// are not interrupted, and there are so many more of them.
const (
	slice    = 2 * time.Millisecond
	perRound = 8
)

// measureUntilWithin measures again, at most so many times, while the row is
// over its bar: another process may have had one of the CPUs.
func (r row) measureUntilWithin(rounds, tries int) (out result) {
	for range tries {
		if out = r.measure(rounds); out.Within {
			break
		}
	}
	return out
}

func (r row) measure(rounds int) result {
	if r.fixed == 0 {
		rounds *= perRound
	}
	rounds *= max(r.more, 1)
	if r.most > 0 {
		rounds = min(rounds, r.most)
	}
	sides := []side{r.ours}
	if r.theirs != nil {
		sides = append(sides, r.theirs)
	}
	first := len(sides)
	for _, p := range r.peers {
		sides = append(sides, p.side)
	}
	counts := make([]int, len(sides))
	for i, s := range sides {
		counts[i] = r.calibrate(s)
	}
	times := make([][]float64, len(sides))
	for range rounds {
		if r.prepare != nil {
			r.prepare(counts[0])
		}
		for i, s := range sides {
			times[i] = append(times[i], perOp(s, counts[i]))
			if i == 0 && r.pause != nil {
				r.pause()
			}
		}
	}
	ours := median(times[0])
	out := result{Name: r.name, Ours: time.Duration(ours), Bar: r.bar.String(), Within: r.bar.holds(ours, 0)}
	if r.theirs != nil {
		theirs := median(times[1])
		out.Theirs, out.Ratio = time.Duration(theirs), medianRatio(times[0], times[1])
		out.Within = r.bar.holds(ours, theirs)
	}
	for i, p := range r.peers {
		t := times[first+i]
		out.Peers = append(out.Peers, peerResult{p.name, time.Duration(median(t)), medianRatio(t, times[0])})
	}
	if r.noAllocs {
		n := allocs(r.ours, counts[0])
		out.Allocs = &n
		out.Within = out.Within && n < 0.01
		out.Bar += ", 0 allocations"
	}
	return out
}

// calibrate returns how many operations fill a slice: by the best of three, since
// one that is interrupted seems to fill it alone.
func (r row) calibrate(s side) int {
	if r.fixed > 0 {
		return r.fixed
	}
	for n := 1; ; n *= 2 {
		took := time.Duration(perOp(s, n) * float64(n))
		for range 2 {
			took = min(took, time.Duration(perOp(s, n)*float64(n)))
		}
		if took > slice/4 {
			return max(1, int(float64(n)*float64(slice)/float64(took)))
		}
	}
}

func perOp(s side, n int) float64 {
	start := time.Now()
	s(n)
	return float64(time.Since(start)) / float64(n)
}

func allocs(s side, n int) float64 {
	var before, after runtime.MemStats
	n = max(n, 10_000)
	runtime.ReadMemStats(&before)
	s(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n)
}

func median(v []float64) float64 {
	v = append([]float64(nil), v...)
	sort.Float64s(v)
	return v[len(v)/2]
}

// medianRatio compares round by round, so that a disturbance that lasts over
// both sides of a round cancels.
func medianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios)
}
