package layer

import (
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash"
)

// What the disk tier has for all devices, and at once, is served without asking
// the core, on the caller's own thread: a goroutine would have to be woken for
// that, and the caller's thread again, which takes longer than finding it. The
// core is asked where the driver refuses it.

// glance serves what was found.
func (t *Ticket) glance(found []kernstash.Found) Reply {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found = make(map[int]kernstash.Found, len(found))
	for _, f := range found {
		unit := f.Job.Devices[0]
		t.found[unit] = f
		t.arrived[unit] = t.newStep(f.Job, f.Artifact)
	}
	return t.serve()
}

// nextFound is next for what was found; the caller holds the lock.
func (t *Ticket) nextFound(outcomes []Outcome) (Reply, bool) {
	expected, answered := make(map[int]bool), make(map[int]stepResult)
	given, built := false, false
	for unit, s := range t.asked {
		var own []*Outcome
		t.each(s, func(i int) { own = append(own, &outcomes[i]) })
		r := s.result(own)
		switch {
		case errors.Is(r.err, errRefused):
			expected[unit] = true
		case r.err != nil:
			given = true
		default:
			t.made = append(t.made, s)
		}
		answered[unit] = r
		built = built || slices.ContainsFunc(own, wasBuilt)
	}
	clear(t.asked)
	found := t.found
	if len(expected) > 0 && !given {
		t.made = nil // the core has them made once more
		t.found, t.answered, t.expected = nil, answered, expected
		t.units, t.begun = len(expected), time.Now()
		t.ask()
		return Reply{}, false
	}
	t.over = true
	t.cancel()
	if given {
		t.l.door.GivenUp()
		return Reply{Action: Done}, true
	}
	took := time.Since(t.begun)
	for _, f := range found {
		t.pool.core.Restored(f, took)
	}
	r := Reply{Action: Done}
	if t.pool.compile {
		r.Program = t.nameUnit(built)
	} else {
		r.Program = t.follow()
	}
	t.know(t.launches, t.made)
	return r, true
}

// asking says whether the core was asked.
func (t *Ticket) asking() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found == nil
}
