package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// answers reports whether the caller's answer to a step of one of some kinds is awaited.
func (g *Group) answers(kinds ...Kind) bool {
	return g.phase == answered && slices.Contains(kinds, g.step.Kind)
}

// Loaded says that a program was made of the artifact of a Hit, which took so long.
func (g *Group) Loaded(took time.Duration) {
	defer g.tell()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.answers(Hit) {
		return
	}
	a, shared := g.step.Artifact, g.step.Shared
	g.end()
	if shared {
		g.decide(Decision{Origin: Memory, Kernels: kernelNames(a)})
		return
	}
	g.s.e.countHit(g.job.Key, a, took)
	if len(a.Binaries) > 0 && a.Binaries[0].Form == store.FormDeferred && g.s.e.Writes() {
		g.deferral = &Deferral{g: g, cost: a.Cost, taken: true}
	}
	g.decide(Decision{
		Origin: Disk, Spent: took, Saved: a.Cost - took, Bytes: a.Size(), Layer: g.layer(), Kernels: kernelNames(a),
	})
}

// layer returns the directory of the layer, or the name of the remote, that a hit is from; "" for
// the store.
func (g *Group) layer() string {
	if g.remote != "" {
		return g.remote
	}
	if d, ok := g.from.(interface{ Dir() string }); ok && g.from != g.s.e.store {
		return d.Dir()
	}
	return ""
}

// Rejected says that the driver refused the artifact of a Hit: the entry is bad, and
// goes. Next says how to go on.
func (g *Group) Rejected(ctx context.Context, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.answers(Hit) {
		return
	}
	e := g.s.e
	e.warn("artifact refused by the driver", "key", g.job.Key.Short(), "error", err.Error())
	if g.step.Shared { // it may be stored meanwhile
		g.apart, g.phase, g.step = true, looking, Step{}
		return
	}
	e.discard(ctx, g.from, g.job.Key)
	g.missed, g.phase, g.step = reason.MissRefused, locking, Step{}
	if g.rejected++; g.rejected > 1 { // that of somebody who built it meanwhile, too
		g.unlock, _ = e.tryLock(ctx, g.job.Key)
		g.miss(reason.MissRefused, false)
	}
}

// Outcome is what a build made.
type Outcome struct {
	Artifact *store.Artifact // nil: there is none, or not yet
	Took     time.Duration
	Ended    time.Time // when that was over; zero: now
	Kernels  []string  // without an artifact: the kernels' names, as far as known

	// Unfit says why what was built is for nobody else; "" says that it is not so.
	Unfit string
}

func (o *Outcome) kernels() []string {
	if o.Artifact == nil {
		return o.Kernels
	}
	return kernelNames(o.Artifact)
}

// Built says that a program was built, and has its artifact stored. Where that comes
// after launches, see [Group.Deferral]. It reports whether there is, or will be, an artifact to keep.
func (g *Group) Built(o Outcome) (kept bool) {
	defer g.tell() // unless it is told with the nearest entry
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.answers(Build, Bypass) {
		return false
	}
	defer g.end()
	if o.Ended.IsZero() {
		o.Ended = time.Now()
	}
	g.spent(o.Took)
	e := g.s.e
	a, delivery := o.Artifact, g.s.host.Delivery(g.job)
	if o.Unfit != "" {
		a = nil
	} else if a == nil && delivery == Elsewhere {
		return g.delegate(o)
	}
	e.countBuild(g.cost)
	if !g.checkChanged() && g.uncacheable.None() {
		if why := cmp.Or(o.Unfit, e.precompiled.Unfit(g.reading, a)); why != "" {
			g.refuse(reason.Uncacheable{Code: reason.NotCacheableRuntime, Detail: why})
		}
	}
	if g.job.Key.IsZero() {
		g.share(nil, nil)
	} else {
		g.share(a, nil)
	}
	g.decide(Decision{Origin: Compiled, Spent: o.Took, Cost: g.cost, Ended: o.Ended, Kernels: o.kernels()})
	e.log.Memory.Debug("built", "program", g.label(), "took", o.Took)
	switch {
	case g.job.Key.IsZero() || !e.Writes():
		return false // counted before
	case g.cheap(o.Took):
		return false
	case a == nil && delivery == AtLaunch:
		g.deferral = newDeferral(g, o.Took)
	case a == nil || len(a.Binaries) == 0:
		g.unkept(reason.NotCacheableRuntime, "it gave no binary")
		return false
	default:
		g.keep(newEntry(g.job.Key, g.job.Recipe, a, g.cost), g.takeLock())
	}
	return true
}

// cheap notes that nothing is kept of what took less to build than the settings want.
func (g *Group) cheap(took time.Duration) bool {
	least := g.s.e.settings.MinBuildTime
	if took >= least {
		return false
	}
	g.unkept(reason.NotCacheableCheap, fmt.Sprintf("min-build-time is %v", least))
	return true
}

// unkept notes why nothing is kept of what was built, though it has a key.
func (g *Group) unkept(code reason.Reason, detail string) {
	g.s.e.count(stats.Of(code))
	if g.decision != nil {
		g.decision.Reason = reason.Uncacheable{Code: code, Detail: detail}.String()
	}
}

// Failed says that the compiler, which took so long, made nothing.
func (g *Group) Failed(err error, took time.Duration) {
	defer g.tell()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.answers(Build, Bypass) {
		return
	}
	defer g.end()
	g.spent(took)
	g.s.e.countBuild(g.cost)
	if g.checkChanged() {
		g.share(nil, nil)
	} else {
		g.share(nil, err)
	}
	g.s.e.count(stats.BuildFailures)
	g.decide(Decision{Spent: took, Cost: g.cost, Err: err})
}

// delegate explains the miss and keeps the header files, for the process that makes the artifact. It reports whether one is
// to make it.
func (g *Group) delegate(o Outcome) bool {
	e := g.s.e
	e.countBuild(g.cost)
	g.decide(Decision{Origin: Compiled, Spent: o.Took, Cost: g.cost, Kernels: o.kernels()})
	keeps := e.Writes() && !g.job.Key.IsZero()
	if keeps && g.cheap(o.Took) {
		return false
	}
	e.count(stats.Delegated)
	if keeps && !g.atOnce {
		e.keeper.Add(g.storing(&store.Entry{Key: g.job.Key, Recipe: g.job.Recipe}, g.takeLock()))
	}
	return keeps
}

// Settle looks, at the end of a build, at what is beside the main source. A caller whose
// application goes on before Built is called calls it first: the application may remove its temporary
// directory, as CuPy does, and Built would take that for a change during the build.
func (g *Group) Settle() {
	if !g.reading.Follows() {
		return
	}
	changed := g.reading.ChangedBeside()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settled, g.changedBeside = true, changed
}

// changed names what is not as it was when the header files were found, "" if nothing.
func (g *Group) changed() string {
	if !g.settled {
		return g.s.changed(g.reading, (*headers.Set).Changed)
	}
	return cmp.Or(g.changedBeside, g.s.changed(g.reading, (*headers.Set).ChangedElsewhere))
}

// checkChanged notes whether nobody knows which header files it was built from, or under
// which variables: then it is not stored, and its image's alone.
func (g *Group) checkChanged() bool {
	why := reason.Uncacheable{Code: reason.NotCacheableChanged, Detail: g.changed()}
	if why.Detail == "" && !g.job.Key.IsZero() {
		// Another thread may have set some since the key was made.
		now, err := g.s.host.Variables(g.job.Devices[0])
		if err == nil && !slices.Equal(key.SortAttributes(now), key.SortAttributes(g.job.Recipe.Options.Variables)) {
			err = errors.New("environment variables of the compiler changed while it was built")
		}
		if err != nil {
			why = reason.Uncacheable{Code: reason.NotCacheableRuntime, Detail: err.Error()}
		}
	}
	if why.Detail == "" {
		return false
	}
	g.exclusive = true
	g.refuse(why)
	return true
}

// refuse notes, after the build, why it is not stored.
func (g *Group) refuse(why reason.Uncacheable) {
	g.job.Key, g.uncacheable = key.Key{}, why
	g.s.e.countUncacheable(why)
}
