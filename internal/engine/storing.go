package engine

import (
	"time"

	"github.com/kernstash/kernstash/internal/engine/keep"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// decide makes the decision, for tell or for whoever knows more.
func (g *Group) decide(d Decision) {
	if g.s.options.Decided == nil && g.s.e.recorded == nil {
		return
	}
	d.Key, d.Recipe, d.Devices, d.Size, d.Waited = g.job.Key, g.job.Recipe, g.job.Devices, g.job.Recipe.Image.Size(), g.waited
	if d.Origin == Compiled || d.Err != nil {
		d.Reason = g.reason()
		if d.Ended.IsZero() { // it may be told later, with the nearest entry
			d.Ended = time.Now()
		}
	}
	if g.observed {
		d.Observed = string(incomparable)
	}
	g.decision = &d
}

// reason returns why it was not restored.
func (g *Group) reason() string {
	switch {
	case !g.uncacheable.None():
		return g.uncacheable.String()
	case g.atOnce:
		return AtOnce
	}
	return g.missed.String()
}

// tell tells the decision, unless somebody has taken it. The caller does not hold g.mu:
// whoever is told may ask the group.
func (g *Group) tell() {
	g.mu.Lock()
	d := g.decision
	g.decision = nil
	g.mu.Unlock()
	if d != nil {
		g.s.told(d)
	}
}

// told tells a decision.
func (s *Session) told(d *Decision) {
	if s.e.recorded != nil {
		s.e.recorded(d)
	}
	if s.options.Decided != nil {
		s.options.Decided(*d)
	}
}

// keep has an entry stored, which takes the build lock over. In mode observe nothing is
// written over: an entry that is there is compared.
func (g *Group) keep(entry *store.Entry, unlock func()) {
	if !g.observed {
		g.s.e.keeper.Add(g.storing(entry, unlock))
		return
	}
	if unlock != nil {
		unlock()
	}
	if g.compared == nil {
		return // a later capture
	}
	verdict := compare(entry.Artifact, g.compared)
	g.compared = nil
	if g.decision != nil {
		g.decision.Observed = string(verdict)
	}
	g.s.e.countCompared(g.job.Key, g.label(), verdict)
}

// storing returns an entry on its way to the store; the first one says what is nearest.
func (g *Group) storing(entry *store.Entry, unlock func()) keep.Entry {
	own := keep.Entry{Entry: entry, Unlock: unlock, Nearest: g.search, Tell: func(string) {}}
	g.search = nil
	own.Headers, own.Kept = g.reading.Take()
	if d := g.decision; own.Nearest != nil && d != nil {
		g.decision = nil // told with what is found out
		own.Tell = func(nearest string) {
			d.Nearest = nearest
			g.s.told(d)
		}
	}
	return own
}

// newEntry returns the entry of a copy of an artifact, with what the runtime left open.
func newEntry(k key.Key, r *key.Recipe, a *store.Artifact, cost time.Duration) *store.Entry {
	own := *a
	if own.Cost == 0 {
		own.Cost = cost
	}
	if own.Created.IsZero() {
		own.Created = time.Now()
	}
	return &store.Entry{Key: k, Recipe: r, Artifact: &own}
}
