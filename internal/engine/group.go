package engine

import (
	"context"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/engine/keep"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
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

func (k Kind) String() string { return [...]string{"ended", "hit", "build", "wait", "bypass"}[k] }

// Step is what comes next.
type Step struct {
	Kind     Kind
	Artifact *store.Artifact // of Hit
	Shared   bool            // of Hit: it was just built for another request; see SessionOptions.Share
	Ready    <-chan struct{} // of Wait: is closed
	Err      error           // of Bypass: it failed a moment ago, for somebody who asked before
}

// Group is the sub-transaction of one group of equal devices. It holds nothing before
// the first Next. One goroutine drives it; Abandon may come from any other.
//
// An answer that is not to the last step does nothing.
type Group struct {
	s    *Session
	what key.Digest // see What

	first  bool          // see Request.First
	buffer *store.Buffer // that the artifact of the last hit is read into; nil: none

	// reading is what the image reads there; nil: nothing.
	reading *headers.Set

	mu          sync.Mutex
	job         Job
	uncacheable reason.Uncacheable
	phase       phase
	step        Step // while the answer to it is awaited

	from      store.Store     // that the artifact of a hit is in
	remote    string          // that the store got it from; "": none
	rejected  int             // artifacts so far
	unlock    func()          // ends the build lock; nil: it is not held
	wait      *wait           // for somebody else's lock
	waitUntil time.Time       // when all waiting ends; zero: it has not begun
	waitSince time.Time       // when the caller was told to wait; zero: it does not
	waited    time.Duration   // before that
	missed    reason.Reason   // why it was not found
	compared  *store.Artifact // mode observe: what a hit would have served, until it is compared
	observed  bool            // mode observe: there was something
	search    *keep.Search    // of the nearest entry, while it is compiled; nil: none
	decision  *Decision       // not told yet
	exclusive bool            // header files changed while it was built
	settled   bool            // it is known what changed beside the main source: see Settle
	deferral  *Deferral

	changedBeside string // "" for nothing

	leads   *building // that the group leads
	follows *building // that it waits for
	apart   bool      // it waits for none any more
	givenUp int       // of the builds that it has waited for
	atOnce  bool      // it builds beside one

	part *part         // of the time of its builds, while the caller builds; nil: it does not
	cost time.Duration // what it built
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
func (g *Group) Uncacheable() reason.Uncacheable {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.uncacheable
}

// Exclusive reports whether header files or variables changed while it was built: nobody knows what
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
	return &Group{s: g.s, what: g.what, first: g.first, job: g.job, uncacheable: g.uncacheable, reading: g.reading}
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
				g.waitEnded()
				g.followed()
			default:
				return g.waits(g.follows.done)
			}
		case waiting:
			select {
			case <-g.wait.done:
				g.waitEnded()
				f := g.wait.found
				g.unlock, g.wait = g.wait.unlock, nil
				g.foundAgain(f)
			default:
				return g.waits(g.wait.done)
			}
		case answered:
			if g.part == nil && g.step.Kind != Hit {
				g.part = g.s.e.busy.begin()
			}
			return g.step
		default:
			return Step{Kind: Ended}
		}
	}
}

// waits has the caller wait.
func (g *Group) waits(ready <-chan struct{}) Step {
	if g.waitSince.IsZero() {
		g.waitSince = time.Now()
	}
	return Step{Kind: Wait, Ready: ready}
}

// waitEnded adds up what the caller has waited, if it had to.
func (g *Group) waitEnded() {
	if !g.waitSince.IsZero() {
		g.waited += time.Since(g.waitSince)
		g.waitSince = time.Time{}
	}
}

// Drive goes through the steps on a goroutine that may wait, and ends the sub-transaction. load
// has the artifact of a Hit, and says Loaded or Rejected: it reports which, or why there is nothing
// more to do. build says Built or Failed, and ends it.
func (g *Group) Drive(ctx context.Context, load func(*store.Artifact) (bool, error), build func() error) error {
	defer g.Abandon()
	for ctx.Err() == nil {
		switch step := g.Next(ctx); step.Kind {
		case Wait:
			select {
			case <-step.Ready:
			case <-ctx.Done():
			}
		case Hit:
			if loaded, err := load(step.Artifact); loaded || err != nil {
				return err
			}
		default:
			return build()
		}
	}
	return context.Cause(ctx)
}

// Deferral returns what takes the artifacts that come after launches: of a program that
// was built, or loaded from one. Nil: none is to be taken.
func (g *Group) Deferral() *Deferral {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deferral
}

// Abandon ends the sub-transaction in whatever state: locks and waits end. After its end it
// does nothing. A Deferral goes on.
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
	g.spent(0)
	g.endLead()
	g.step, g.phase = Step{}, over
}

// Release says, after Loaded, that nobody reads the artifact of a request with First any more: the
// code of the next one may be read into its memory. A caller that does not know leaves it to the collector.
func (g *Group) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == over && g.buffer != nil {
		g.s.e.buffers.Put(g.buffer)
		g.buffer = nil
	}
}

// Cost returns what a build that has ended costs: what it took, or its part of that where the process built other
// programs at the same time.
func (g *Group) Cost() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cost
}

// spent ends the caller's build, if there is one, which took so long.
func (g *Group) spent(took time.Duration) {
	if g.part != nil {
		g.cost = g.s.e.busy.end(g.part, took)
		g.part = nil
	}
}

// takeLock returns the build lock, which somebody else ends from now on.
func (g *Group) takeLock() (unlock func()) {
	unlock, g.unlock = g.unlock, nil
	return unlock
}
