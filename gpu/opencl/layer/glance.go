package layer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/guest"
)

// What the disk tier has for all devices, and at once, is served without asking
// the core, on the caller's own thread: a goroutine would have to be woken for
// that, and the caller's thread again, which takes longer than finding it. The
// core is asked where the driver refuses it.

// look returns what the stores have of the ticket's request at once.
func (t *Ticket) look(ctx context.Context, what What) []kernstash.Found {
	// The linked program is the application's own: there is none that could be
	// built to be asked, if the rest is gone by then.
	if what != Build || t.l.answers.full() {
		return t.pool.core.Glance(ctx, t.request)
	}
	return t.pool.core.GlanceFirst(ctx, t.request)
}

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
		return Reply{Action: front.Done}, true
	}
	r, took := Reply{Action: front.Done}, time.Since(t.begun)
	for _, f := range found {
		if t.pool.compile && built {
			t.l.compiledAnyway(f.Job.Key, guest.Label(nil, f.Job.Recipe.Image.Size()), took, 0)
			continue
		}
		t.pool.core.Restored(f, took)
		if t.pool.compile {
			r.Saved += f.Artifact.Cost - took
		}
	}
	if t.pool.compile {
		r.Program = t.nameUnit(built)
	} else if r.Program = t.follow(); r.Program == 0 {
		r.Program = t.keepAnswers(found)
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
