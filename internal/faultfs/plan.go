// Package faultfs plans which system calls of the disk tier fail, for tests:
// the n-th call of all or of a kind, once or from there on, or calls at random
// by a seed. A plan counts calls and says which it made fail.
//
//	plan := faultfs.New(faultfs.Rule{Nth: 17, Fault: faultfs.Fault{Err: syscall.EIO}})
//	store := disk.New(disk.Options{Dir: dir}.WithFiles(safefs.Options{Hook: plan.Hook()}))
package faultfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/kernstash/kernstash/internal/safefs"
)

// Fault is what a call answers.
type Fault struct {
	Err error // instead of being made

	// Part is for reads and writes, where Err is nil: how many bytes are moved
	// at most. Half of them, if it is negative.
	Part int
}

// Half moves half of what a read or write is about, at least one byte.
var Half = Fault{Part: -1}

func (f Fault) String() string {
	switch {
	case f.Err != nil:
		return f.Err.Error()
	case f.Part < 0:
		return "half"
	}
	return fmt.Sprintf("%d bytes", f.Part)
}

// Rule says which calls fail, and how. One of Nth and Chance is set.
type Rule struct {
	Ops    []safefs.Op // that it is about; nil: all
	Nth    int         // the call of them that fails, counted from 1
	Sticky bool        // and all of them that come later
	Chance float64     // the probability that a call fails
	Fault  Fault
}

// Hit is a call that a plan made fail.
type Hit struct {
	Call  int // counted from 1, over all
	Op    safefs.Op
	Fault Fault
}

func (h Hit) String() string { return fmt.Sprintf("call %d, %s: %v", h.Call, h.Op, h.Fault) }

// Plan is a set of rules; of several that are for a call, the first decides. It
// is safe for concurrent use.
type Plan struct {
	mu      sync.Mutex
	rules   []rule
	rand    *rand.Rand
	calls   []safefs.Op
	hits    []Hit
	stopped bool
}

type rule struct {
	Rule
	seen int // calls that it is about
	last int // the call that it made fail last
}

// New returns a plan of rules whose chances come from seed 0.
func New(rules ...Rule) *Plan { return Random(0, rules...) }

// Random is New with the seed of the chances.
func Random(seed uint64, rules ...Rule) *Plan {
	p := &Plan{rand: rand.New(rand.NewPCG(seed, 0))}
	for _, r := range rules {
		p.rules = append(p.rules, rule{Rule: r})
	}
	return p
}

// Hook returns what [safefs.Options] takes.
func (p *Plan) Hook() *safefs.Hook { return &safefs.Hook{Before: p.before} }

// Stop ends the faults; calls are counted still.
func (p *Plan) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// Calls returns the calls so far.
func (p *Plan) Calls() []safefs.Op {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Hits returns the calls so far that failed.
func (p *Plan) Hits() []Hit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hits)
}

func (p *Plan) before(op safefs.Op, size int) (most int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, op)
	if p.stopped {
		return size, nil
	}
	// Every rule counts, also those that another one is before.
	var fault *Fault
	for i := range p.rules {
		if r := &p.rules[i]; r.decide(op, len(p.calls), p.rand) && fault == nil {
			fault = &r.Fault
		}
	}
	if fault == nil || fault.Err == nil && size == 0 {
		return size, nil
	}
	p.hits = append(p.hits, Hit{len(p.calls), op, *fault})
	switch {
	case fault.Err != nil:
		return 0, fault.Err
	case fault.Part < 0:
		return max(size/2, 1), nil
	}
	return fault.Part, nil
}

// decide reports whether a rule makes a call fail. A call that a signal
// interrupted is made again until it is not, so that fault never comes twice
// in a row.
func (r *rule) decide(op safefs.Op, call int, rnd *rand.Rand) bool {
	if r.Ops != nil && !slices.Contains(r.Ops, op) {
		return false
	}
	r.seen++
	fails := r.seen == r.Nth || r.Sticky && r.Nth > 0 && r.seen > r.Nth
	if r.Chance > 0 {
		fails = rnd.Float64() < r.Chance
	}
	if fails && errors.Is(r.Fault.Err, syscall.EINTR) && r.last > 0 && r.last == call-1 {
		return false
	}
	if fails {
		r.last = call
	}
	return fails
}
