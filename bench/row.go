package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// side is one side of a comparison: it does its operation n times.
type side func(n int)

// row compares two sides.
type row struct {
	name         string
	ours, theirs side
	bar          bar
	noAllocs     bool        // ours must not allocate
	fixed        int         // so many operations a round; 0: as many as fill a slice
	more         int         // so many times as many rounds, where one has few operations
	prepare      func(n int) // before ours does n operations, not measured
	pause        func()      // after ours, not measured
}

// bar is what a row must keep to: ours ≤ factor × theirs + extra, a row without
// a peer to extra alone. If rate is set it is instead: ours per second ≥ rate ×
// theirs per second.
type bar struct {
	factor float64
	extra  time.Duration
	rate   float64
}

func (b bar) String() string {
	switch {
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
	if b.rate > 0 {
		return theirs >= b.rate*ours
	}
	return ours <= b.factor*theirs+float64(b.extra)
}

// result is what a row showed.
type result struct {
	Name   string        `json:"name"`
	Ours   time.Duration `json:"ours_ns"`
	Theirs time.Duration `json:"theirs_ns"`
	Ratio  float64       `json:"ratio"`
	Allocs float64       `json:"allocs"`
	Bar    string        `json:"bar"`
	Within bool          `json:"within"`
}

// slice is how long one measurement of one side takes.
const slice = 20 * time.Millisecond

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
	n := r.calibrate(r.ours)
	m := 0
	if r.theirs != nil {
		m = r.calibrate(r.theirs)
	}
	var ours, theirs, ratios []float64
	for range rounds * max(r.more, 1) {
		if r.prepare != nil {
			r.prepare(n)
		}
		a := perOp(r.ours, n)
		if r.pause != nil {
			r.pause()
		}
		ours = append(ours, a)
		if r.theirs != nil {
			b := perOp(r.theirs, m)
			theirs = append(theirs, b)
			ratios = append(ratios, a/b)
		}
	}
	out := result{Name: r.name, Ours: time.Duration(median(ours)), Bar: r.bar.String()}
	out.Within = r.bar.holds(median(ours), 0)
	if r.theirs != nil {
		out.Theirs, out.Ratio = time.Duration(median(theirs)), median(ratios)
		out.Within = r.bar.holds(median(ours), median(theirs))
	}
	if r.noAllocs {
		out.Allocs = allocs(r.ours, n)
		out.Within = out.Within && out.Allocs < 0.01
		out.Bar += ", 0 allocations"
	}
	return out
}

// calibrate returns how many operations fill a slice.
func (r row) calibrate(s side) int {
	if r.fixed > 0 {
		return r.fixed
	}
	for n := 1; ; n *= 2 {
		if start := time.Now(); true {
			s(n)
			if took := time.Since(start); took > slice/4 {
				return max(1, int(float64(n)*float64(slice)/float64(took)))
			}
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
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
