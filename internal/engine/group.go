package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine/keep"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Kind says what the caller of [Group.Next] is to do.
type Kind uint8

// The kinds of step.
const (
	Ended  Kind = iota // nothing: the sub-transaction is over
	Hit                // load the artifact, then Loaded or Rejected
	Build              // build, then Built or Failed; what is built may be kept
	Wait               // somebody builds it: wait for Ready, then Next again
	Bypass             // build, then Built or Failed; nothing is kept
)

func (k Kind) String() string {
	return [...]string{"ended", "hit", "build", "wait", "bypass"}[k]
}

// Step is what comes next.
type Step struct {
	Kind     Kind
	Artifact *store.Artifact // of Hit
	Shared   bool            // of Hit: it was just built for another request; see SessionOptions.Share
	Ready    <-chan struct{} // of Wait: is closed
	Missed   reason.Reason   // of Build, and Bypass of what has a key: why there is no artifact
	Reason   deps.Reason     // of Bypass: why it cannot be cached
	Err      error           // of Bypass: it failed a moment ago, for somebody who asked before
}

// Group is the sub-transaction of one group of equal devices. It holds nothing before
// the first Next. One goroutine drives it; Abandon may come from any other.
//
// An answer that is not to the last step does nothing.
type Group struct {
	s    *Session
	what key.Digest // see What

	// reading is what the image reads there; nil: nothing.
	reading *reading

	mu          sync.Mutex
	job         Job
	uncacheable deps.Reason
	phase       phase
	step        Step // while the answer to it is awaited

	from      store.Store       // that the artifact of a hit is in
	rejected  int               // artifacts so far
	unlock    func()            // ends the build lock; nil: it is not held
	wait      *wait             // for somebody else's lock
	waitUntil time.Time         // when all waiting ends; zero: it has not begun
	missed    reason.Reason     // why it was not found
	compared  *store.Artifact   // mode observe: what a hit would have served, until it is compared
	observed  bool              // mode observe: there was something
	prepared  *keep.Preparation // what is done while it is compiled; nil: nothing
	explain   bool              // the nearest entry is looked for
	decision  *decision         // not told yet
	exclusive bool              // header files changed while it was built
	deferral  *Deferral

	part    *store.GetOptions // how artifacts are read; nil: in full
	leads   *building         // that the group leads
	follows *building         // that it waits for
	apart   bool              // it waits for none any more
	atOnce  bool              // it builds beside one
}

type phase uint8

const (
	looking   phase = iota // nothing was looked for yet
	locking                // it was not found: somebody has to build it
	following              // somebody of this process builds it
	waiting                // for somebody else's lock
	answered               // by the caller's next call
	over
)

// Job returns what is built. Its key is zero where nothing is stored, which may turn out
// when it is built.
func (g *Group) Job() Job {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.job
}

// What returns what the group is of: the same for requests that mean the same files, for
// whatever other devices. Within a session it tells units of devices apart, with the
// first device.
func (g *Group) What() key.Digest { return g.what }

// Uncacheable returns why nothing is stored, which may turn out when it is built.
func (g *Group) Uncacheable() deps.Reason {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.uncacheable
}

// Exclusive reports whether header files changed while it was built: nobody knows what
// it was built from, so it is for the caller's image alone.
func (g *Group) Exclusive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.exclusive
}

// Label names what is built, for people.
func (g *Group) Label() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.label()
}

func (g *Group) label() string {
	if g.job.Key.IsZero() {
		return g.what.String()[:12]
	}
	return g.job.Key.Short()
}

// Renew returns a new sub-transaction of what g means.
func (g *Group) Renew() *Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := &Group{s: g.s, what: g.what, job: g.job, uncacheable: g.uncacheable, reading: g.reading}
	return own
}

// Next returns what the caller is to do. It reads the stores, and waits for nobody. It
// is the same step until that is answered.
func (g *Group) Next(ctx context.Context) Step {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		switch g.phase {
		case looking:
			g.look(ctx)
		case locking:
			g.lock(ctx)
		case following:
			select {
			case <-g.follows.done:
				g.followed()
			default:
				return Step{Kind: Wait, Ready: g.follows.done}
			}
		case waiting:
			select {
			case <-g.wait.done:
				f := g.wait.found
				g.unlock, g.wait = g.wait.unlock, nil
				g.foundAgain(f)
			default:
				return Step{Kind: Wait, Ready: g.wait.done}
			}
		case answered:
			return g.step
		default:
			return Step{Kind: Ended}
		}
	}
}

// look decides what the mode and the stores say.
func (g *Group) look(ctx context.Context) {
	e := g.s.e
	if !g.uncacheable.None() {
		e.countUncacheable(g.uncacheable)
		g.build(false)
		return
	}
	e.traceKey(g.job.Key, g.job.Recipe)
	switch {
	case !e.Reads():
		g.miss(reason.MissTierOff)
		g.build(false)
		return
	case e.settings.Mode == settings.ModeRefresh:
		if !g.join() {
			return
		}
		g.miss(reason.MissRefresh)
		g.build(false)
		return
	}
	if e.settings.Mode == settings.ModeObserve {
		if g.join() {
			g.observe(e.find(ctx, g.job.Key, nil))
			g.build(false)
		}
		return
	}
	switch f := e.find(ctx, g.job.Key, g.part); {
	case f.entry != nil:
		g.hit(f)
	default:
		g.missed, g.phase = f.why, locking
	}
}

// observe notes what a hit would have served.
func (g *Group) observe(f found) {
	e := g.s.e
	if f.entry == nil {
		g.miss(f.why)
		return
	}
	g.missed = reason.ObserveHits
	e.count(stats.Of(reason.ObserveHits))
	on(e.log.Disk, func(l *slog.Logger) { l.Debug("would have hit", "key", g.job.Key.Short()) })
	g.compared, g.observed = f.entry.Artifact, true
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
	absent := g.missed == reason.MissAbsent
	switch {
	case g.apart: // it has waited
		g.unlock, _ = g.s.e.tryLock(ctx, g.job.Key)
		fallthrough
	case g.s.host.Delivery(g.job) == Elsewhere: // nothing will be there for having waited
		g.miss(g.missed)
		g.build(absent)
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
		g.foundAgain(g.s.e.find(ctx, g.job.Key, nil))
	default:
		g.unlock = unlock
		g.miss(g.missed)
		g.build(absent)
	}
}

// join reports whether the group goes on by itself: it leads the build, or nothing is
// shared. Else it waits for the one that leads.
func (g *Group) join() bool {
	if !g.joins() {
		return true
	}
	own, leads := g.s.e.builds.join(g.job.Key)
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
	return g.s.options.Share && !g.apart && g.leads == nil && !g.job.Key.IsZero() && g.s.e.Writes()
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
	if own := g.s.e.builds.find(g.job.Key); own != nil {
		g.follow(own)
	}
}

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
		g.apart = own.ended // or each would wait for the one before
		g.phase = looking
	}
}

// share gives what the group built, or why that failed, to those who wait for it.
func (g *Group) share(a *store.Artifact, err error) {
	if g.leads != nil {
		g.leads.ended, g.leads.artifact, g.leads.err = true, a, err
	}
}

// lead ends what the group leads.
func (g *Group) endLead() {
	if g.leads != nil {
		g.s.e.builds.end(g.leads)
		g.leads = nil
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
	g.miss(g.missed)
	g.build(g.missed == reason.MissAbsent)
}

func (g *Group) miss(why reason.Reason) {
	g.missed = why
	g.s.e.countMiss(why)
}

// hit has the caller load. Meanwhile it holds no lock.
func (g *Group) hit(f found) {
	if unlock := g.takeLock(); unlock != nil {
		unlock()
	}
	g.endLead() // those who wait for it find it, too
	g.from = f.from
	g.step, g.phase = Step{Kind: Hit, Artifact: f.entry.Artifact}, answered
}

// build has the caller build. With explain the nearest entry is looked for meanwhile.
func (g *Group) build(explain bool) {
	e := g.s.e
	delivery := g.s.host.Delivery(g.job)
	if !g.job.Key.IsZero() && delivery != Elsewhere { // whose headers are stored with the recipe
		e.keepHeaders(g.reading)
	}
	if g.explain = explain; explain && e.Writes() && !g.job.Key.IsZero() {
		g.prepared = e.keeper.Prepare(g.job.Recipe, g.previous(), delivery == AtBuild)
	}
	g.reading.watch()
	g.step, g.phase = Step{Kind: Build, Missed: g.missed, Reason: g.uncacheable}, answered
	if g.job.Key.IsZero() || !e.Writes() {
		g.step.Kind = Bypass
	}
}

func (g *Group) previous() key.Digest {
	if g.reading == nil || g.reading.set == nil {
		return key.Digest{}
	}
	return g.reading.set.Previous
}

// answers reports whether the caller's answer to one of some kinds of step is awaited,
// and takes it.
func (g *Group) answers(kinds ...Kind) bool {
	if g.phase != answered {
		return false
	}
	for _, k := range kinds {
		if g.step.Kind == k {
			return true
		}
	}
	return false
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
		Origin: Disk, Spent: took, Saved: a.Cost - took, Bytes: a.Size(), Kernels: kernelNames(a),
	})
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
	e.log.Warn("artifact refused by the driver", "key", g.job.Key.Short(), "error", err.Error())
	if g.step.Shared { // it may be stored meanwhile
		g.apart, g.phase, g.step = true, looking, Step{}
		return
	}
	e.discard(ctx, g.from, g.job.Key)
	g.missed, g.phase, g.step = reason.MissRefused, locking, Step{}
	if g.rejected++; g.rejected > 1 { // that of somebody who built it meanwhile, too
		g.miss(reason.MissRefused)
		g.unlock, _ = e.tryLock(ctx, g.job.Key)
		g.build(false)
	}
}

// Outcome is what a build made.
type Outcome struct {
	Artifact *store.Artifact // nil: there is none, or not yet
	Took     time.Duration

	// Unfit says why what was built is for nobody else; "" says that it is not so.
	Unfit string
}

// Built says that a program was built, and has its artifact stored. Where that comes
// after launches, see [Group.Deferral].
func (g *Group) Built(o Outcome) {
	defer g.tell() // unless it is told with the nearest entry
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.answers(Build, Bypass) {
		return
	}
	defer g.end()
	e := g.s.e
	a, delivery := o.Artifact, g.s.host.Delivery(g.job)
	if o.Unfit != "" {
		a = nil
	} else if a == nil && delivery == Elsewhere {
		g.delegate(o.Took)
		return
	}
	e.countBuild(o.Took)
	if !g.checkChanged() && o.Unfit != "" {
		g.refuse(deps.Reason{Code: reason.NotCacheableRuntime, Detail: o.Unfit})
	}
	if g.job.Key.IsZero() {
		g.share(nil, nil)
	} else {
		g.share(a, nil)
	}
	g.decide(Decision{Origin: Compiled, Spent: o.Took, Kernels: kernelNames(a)})
	on(e.log.Memory, func(l *slog.Logger) { l.Debug("built", "program", g.label(), "took", o.Took) })
	switch {
	case g.job.Key.IsZero() || !e.Writes():
		return // counted before
	case o.Took < e.settings.MinBuildTime:
		e.count(stats.Of(reason.NotCacheableCheap))
	case a == nil && delivery == AtLaunch:
		g.deferral = newDeferral(g, o.Took)
	case a == nil || len(a.Binaries) == 0:
		e.count(stats.Of(reason.NotCacheableRuntime))
	default:
		g.keep(newEntry(g.job.Key, g.job.Recipe, a, o.Took), g.explain, g.takeLock())
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
	g.s.e.countBuild(took)
	if !g.checkChanged() {
		g.share(nil, err)
	}
	g.s.e.count(stats.BuildFailures)
	g.decide(Decision{Spent: took, Err: err})
}

// Deferral returns what takes the artifacts that come after launches: of a program that
// was built, or loaded from one. Nil: none is to be taken.
func (g *Group) Deferral() *Deferral {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deferral
}

// Abandon ends the sub-transaction in whatever state: locks and waits end, and what was
// prepared is undone. After its end it does nothing. A Deferral goes on.
func (g *Group) Abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// end gives back what is held.
func (g *Group) end() {
	if g.wait != nil {
		g.wait.abandon()
		g.wait = nil
	}
	if unlock := g.takeLock(); unlock != nil {
		unlock()
	}
	g.follows = nil
	g.endLead()
	g.s.e.keeper.Abort(g.takePreparation())
	g.step, g.phase = Step{}, over
}

// takeLock and takePreparation return what somebody else gives back from now on.
func (g *Group) takeLock() (unlock func()) {
	unlock, g.unlock = g.unlock, nil
	return unlock
}

func (g *Group) takePreparation() (p *keep.Preparation) {
	p, g.prepared = g.prepared, nil
	return p
}

// delegate has the miss explained and the header files kept, for the process that makes
// the artifact.
func (g *Group) delegate(took time.Duration) {
	g.s.e.countBuild(took)
	g.s.e.count(stats.Delegated)
	g.decide(Decision{Origin: Compiled, Spent: took})
	if !g.s.e.Writes() || g.job.Key.IsZero() || g.atOnce {
		return
	}
	g.s.e.keeper.Add(g.storing(&store.Entry{Key: g.job.Key, Recipe: g.job.Recipe}, g.explain, g.takeLock()))
}

// checkChanged notes whether nobody knows which header files it was built from: then it
// is not stored, and its image's alone.
func (g *Group) checkChanged() bool {
	changed := g.s.changed(g.reading)
	if changed == "" {
		return false
	}
	g.exclusive = true
	g.refuse(deps.Reason{Code: reason.NotCacheableChanged, Detail: changed})
	return true
}

// refuse notes, after the build, why it is not stored.
func (g *Group) refuse(why deps.Reason) {
	g.job.Key, g.uncacheable = key.Key{}, why
	g.s.e.countUncacheable(why)
}

// decide makes the decision, for tell or for whoever knows more.
func (g *Group) decide(d Decision) {
	if g.s.options.Decided == nil {
		return
	}
	d.Key, d.Devices, d.Size = g.job.Key, g.job.Devices, g.job.Recipe.Image.Size()
	if d.Origin == Compiled || d.Err != nil {
		d.Reason = g.reason()
	}
	if g.observed {
		d.Observed = string(incomparable)
	}
	g.decision = &decision{d, g.s.options.Decided}
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
	d.tell("")
}

// keep has an entry stored, which takes the build lock over. In mode observe nothing is
// written over: an entry that is there is compared.
func (g *Group) keep(entry *store.Entry, explain bool, unlock func()) {
	if !g.observed {
		g.s.e.keeper.Add(g.storing(entry, explain, unlock))
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

// storing returns an entry on its way to the store.
func (g *Group) storing(entry *store.Entry, explain bool, unlock func()) keep.Entry {
	own := keep.Entry{Entry: entry, Explain: explain, Unlock: unlock, Previous: g.previous(), Prepared: g.takePreparation()}
	own.Headers, own.Kept = g.reading.take()
	if explain && g.decision != nil {
		own.Tell, g.decision = g.decision.tell, nil // told with what is found out
	}
	return own
}

// newEntry returns the entry of an artifact; what the runtime left open of it is filled
// in on a copy.
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
