package engine

import (
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// join reports whether the group goes on by itself: it leads the build, or nothing is
// shared. Else it waits for the one that leads.
func (g *Group) join() bool {
	if !g.joins() {
		return true
	}
	own, leads := g.s.e.builds.Begin(g.job.Key, &building{key: g.job.Key, done: make(chan struct{})})
	switch {
	case leads:
		g.leads = own
	case g.s.host.Delivery(g.job) == Elsewhere: // nothing is there for having waited
		g.apart, g.atOnce = true, true
	default:
		g.follow(own)
		return false
	}
	return true
}

// joins reports whether the group shares a build with others.
func (g *Group) joins() bool {
	return g.s.options.Share && !g.apart && g.leads == nil && !g.job.Key.IsZero()
}

func (g *Group) follow(own *building) {
	g.s.e.count(stats.MemoryWaits)
	g.follows, g.phase = own, following
}

// Follow has the group wait for another request of the process that builds it, if there
// is one: its caller waits for another group of the transaction, and asks for what comes
// next when that is known.
func (g *Group) Follow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != looking || !g.joins() || g.s.host.Delivery(g.job) == Elsewhere {
		return
	}
	if own := g.s.e.builds.Find(g.job.Key); own != nil {
		g.follow(own)
	}
}

// maxGivenUp is for how many builds that are given up a group waits.
const maxGivenUp = 3

// followed goes on with what came of the build that the group waited for.
func (g *Group) followed() {
	own := g.follows
	g.follows = nil
	switch {
	case own.artifact != nil:
		g.step, g.phase = Step{Kind: Hit, Artifact: own.artifact, Shared: true}, answered
	case own.err != nil:
		g.step, g.phase = Step{Kind: Bypass, Err: own.err}, answered
	default:
		if !own.ended {
			g.givenUp++
		}
		g.apart = own.ended || g.givenUp == maxGivenUp // or each would wait for the one before
		g.phase = looking
	}
}

// share gives what the group built, or why that failed, to those who wait for it.
func (g *Group) share(a *store.Artifact, err error) {
	if g.leads != nil {
		g.leads.ended, g.leads.artifact, g.leads.err = true, a, err
	}
}

// endLead ends what the group leads.
func (g *Group) endLead() {
	if g.leads != nil {
		g.s.e.builds.End(g.leads.key)
		close(g.leads.done)
		g.leads = nil
	}
}
