package engine

import (
	"context"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// look decides what the mode and the stores say.
func (g *Group) look(ctx context.Context) {
	e := g.s.e
	if !g.uncacheable.None() {
		e.countUncacheable(g.uncacheable)
		g.build(false)
		return
	}
	e.traceKey(g.job.Key, g.job.Recipe)
	switch mode := e.settings.Mode; {
	case !e.Reads():
		g.miss(reason.MissTierOff, false)
	case mode == settings.ModeRefresh:
		if g.join() {
			g.miss(reason.MissRefresh, false)
		}
	case mode == settings.ModeObserve:
		if g.join() {
			g.observe(e.find(ctx, g.job.Key, nil))
		}
	default:
		if f := g.find(ctx); f.entry != nil {
			g.hit(f)
		} else {
			g.missed, g.phase = f.why, locking
		}
	}
}

// find is Engine.find, of what the group needs of the artifact.
func (g *Group) find(ctx context.Context) found {
	e := g.s.e
	if !g.first {
		return e.find(ctx, g.job.Key, nil)
	}
	buf := e.buffers.Get().(*store.Buffer)
	f := e.find(ctx, g.job.Key, buf)
	if f.entry == nil {
		e.buffers.Put(buf)
		return f
	}
	g.buffer = buf
	return f
}

// observe notes what a hit would have served, and has the caller build.
func (g *Group) observe(f found) {
	e := g.s.e
	if f.entry == nil {
		g.miss(f.why, false)
		return
	}
	g.missed = reason.ObserveHits
	e.count(stats.Of(reason.ObserveHits))
	e.log.Disk.Debug("would have hit", "key", g.job.Key.Short())
	g.compared, g.observed = f.entry.Artifact, true
	g.build(false)
}

// lock takes the build lock, if there is one, or waits for somebody who has it.
func (g *Group) lock(ctx context.Context) {
	if !g.join() {
		return
	}
	if g.atOnce {
		g.build(false)
		return
	}
	absent := nowhere(g.missed)
	switch {
	case g.apart: // it has waited
		g.unlock, _ = g.s.e.tryLock(ctx, g.job.Key)
		fallthrough
	case g.s.host.Delivery(g.job) == Elsewhere: // nothing will be there for having waited
		g.miss(g.missed, absent)
		return
	}
	unlock, wait := g.s.e.lockBuild(ctx, g.job.Key, g.leftToWait)
	switch {
	case wait != nil:
		g.wait, g.phase = wait, waiting
	case unlock != nil && absent:
		// Another process may have stored it between our look and our lock. (A
		// damaged entry that nobody built anew is damaged still.)
		g.unlock = unlock
		g.foundAgain(g.find(ctx))
	default:
		g.unlock = unlock
		g.miss(g.missed, absent)
	}
}

// leftToWait returns how long the group may still wait for others.
func (g *Group) leftToWait() time.Duration {
	if g.waitUntil.IsZero() {
		g.waitUntil = time.Now().Add(g.s.e.maxWait(g.job.Recipe))
	}
	return time.Until(g.waitUntil)
}

// foundAgain goes on with what somebody else may have stored.
func (g *Group) foundAgain(f found) {
	if f.entry != nil {
		g.hit(f)
		return
	}
	if f.why != reason.MissAbsent {
		g.missed = f.why // else it was there before, and bad
	}
	g.miss(g.missed, nowhere(g.missed))
}

// nowhere reports whether a miss says that the store that is written has no entry, be it that a
// remote has none that is of use.
func nowhere(why reason.Reason) bool {
	return why == reason.MissAbsent || why == reason.MissRemote || why == reason.MissUntrusted
}

// miss counts a miss, and has the caller build.
func (g *Group) miss(why reason.Reason, explain bool) {
	g.missed = why
	g.s.e.countMiss(why)
	g.build(explain)
}

// hit has the caller load. Meanwhile it holds no lock.
func (g *Group) hit(f found) {
	if unlock := g.takeLock(); unlock != nil {
		unlock()
	}
	g.endLead() // those who wait for it find it, too
	g.from, g.remote = f.from, f.entry.From
	g.step, g.phase = Step{Kind: Hit, Artifact: f.entry.Artifact}, answered
}

// build has the caller build. With explain the nearest entry is looked for meanwhile.
func (g *Group) build(explain bool) {
	e := g.s.e
	if !g.job.Key.IsZero() && g.s.host.Delivery(g.job) != Elsewhere { // whose headers are stored with the recipe
		e.keepHeaders(g.reading)
	}
	if explain && e.Writes() && !g.job.Key.IsZero() {
		var previous key.Digest
		if g.reading != nil {
			previous = g.reading.Previous
		}
		g.search = e.keeper.Search(g.job.Recipe, previous)
	}
	g.reading.Watch()
	g.step, g.phase = Step{Kind: Build}, answered
	if g.job.Key.IsZero() || !e.Writes() {
		g.step.Kind = Bypass
	}
}
