package faultfs

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/safefs"
)

// ask makes calls and returns the numbers of those that failed.
func ask(p *Plan, ops ...safefs.Op) (failed []int) {
	h := p.Hook()
	for i, op := range ops {
		if _, err := h.Before(op, 0); err != nil {
			failed = append(failed, i+1)
		}
	}
	return failed
}

func TestRules(t *testing.T) {
	t.Parallel()
	const r, w = safefs.OpPread, safefs.OpPwrite
	eio := Fault{Err: syscall.EIO}
	for _, test := range []struct {
		name string
		rule Rule
		want []int // of the calls r w r w r
	}{
		{"the third of all", Rule{Nth: 3, Fault: eio}, []int{3}},
		{"from the fourth on", Rule{Nth: 4, Sticky: true, Fault: eio}, []int{4, 5}},
		{"the second write", Rule{Ops: []safefs.Op{w}, Nth: 2, Fault: eio}, []int{4}},
		{"reads from the second on", Rule{Ops: []safefs.Op{r}, Nth: 2, Sticky: true, Fault: eio}, []int{3, 5}},
		{"every one", Rule{Chance: 1, Fault: eio}, []int{1, 2, 3, 4, 5}},
		{"none", Rule{Nth: 6, Fault: eio}, nil},
		{"interrupted for ever", Rule{Nth: 1, Sticky: true, Fault: Fault{Err: syscall.EINTR}}, []int{1, 3, 5}},
	} {
		p := New(test.rule)
		if got := ask(p, r, w, r, w, r); !slices.Equal(got, test.want) {
			t.Errorf("%s: calls %v failed, want %v", test.name, got, test.want)
		}
		var hits []int
		for _, h := range p.Hits() {
			hits = append(hits, h.Call)
		}
		if !slices.Equal(hits, test.want) || len(p.Calls()) != 5 {
			t.Errorf("%s: hits %v of %d calls", test.name, hits, len(p.Calls()))
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault            Fault
		size, most, hits int
	}{
		{Half, 9, 4, 1},
		{Half, 1, 1, 1},
		{Fault{Part: 3}, 9, 3, 1},
		{Fault{}, 9, 0, 1},
		{Fault{}, 0, 0, 0}, // not a read or write
	} {
		p := New(Rule{Nth: 1, Fault: test.fault})
		most, err := p.Hook().Before(safefs.OpPread, test.size)
		if most != test.most || err != nil || len(p.Hits()) != test.hits {
			t.Errorf("%v of %d: %d, %v, %v; want %d", test.fault, test.size, most, err, p.Hits(), test.most)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Parallel()
	ops := make([]safefs.Op, 200)
	run := func(seed uint64) []int {
		return ask(Random(seed, Rule{Chance: 0.3, Fault: Fault{Err: syscall.EIO}}), ops...)
	}
	a := run(1)
	if !slices.Equal(a, run(1)) || slices.Equal(a, run(2)) || len(a) < 30 || len(a) > 90 {
		t.Errorf("%d of 200 calls failed at a chance of 0.3, or seeds do not decide", len(a))
	}
}

// TestFirstRuleDecides, and the others count on.
func TestFirstRuleDecides(t *testing.T) {
	t.Parallel()
	p := New(Rule{Nth: 1, Fault: Fault{Err: syscall.EIO}}, Rule{Nth: 2, Sticky: true, Fault: Fault{Err: syscall.ENOSPC}})
	h := p.Hook()
	for i, want := range []error{syscall.EIO, syscall.ENOSPC, syscall.ENOSPC} {
		if _, err := h.Before(safefs.OpOpen, 0); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i+1, err, want)
		}
	}
	p.Stop()
	if _, err := h.Before(safefs.OpOpen, 0); err != nil || len(p.Calls()) != 4 {
		t.Errorf("after Stop: %v, %d calls", err, len(p.Calls()))
	}
}
