package engine

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// A build lock is held for a program that its application has not launched yet for at
// least minHold, or holdFactor times what the build took. Then other processes build for
// themselves.
const (
	minHold    = time.Second
	holdFactor = 2
)

// Deferral takes the artifacts of a program whose driver makes code at launches. Until
// the first is stored it holds the build lock, for a bounded time. It outlives its
// transaction, and is safe for concurrent use.
type Deferral struct {
	g *Group

	mu     sync.Mutex
	cost   time.Duration
	took   time.Duration // the build
	taken  bool          // an artifact was taken or loaded before
	unlock func()        // ends the build lock; nil: it is not held
	hold   *time.Timer   // nil: it never was
	await  func()        // ends that the application is awaited; as long as hold is not nil
}

// newDeferral returns that of a program that was built; g.mu is held.
func newDeferral(g *Group, took time.Duration) *Deferral {
	d := &Deferral{g: g, cost: g.cost, took: took, unlock: g.takeLock()}
	if d.unlock != nil {
		d.await = g.s.e.Awaiting()
		d.hold = time.AfterFunc(d.holdTime(), d.Release)
	}
	return d
}

func (d *Deferral) holdTime() time.Duration { return max(minHold, holdFactor*d.took) }

// Taken reports whether an artifact was taken before, or loaded.
func (d *Deferral) Taken() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken
}

// Launched says that the application has launched it: the artifact waits for us alone.
func (d *Deferral) Launched() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hold != nil {
		d.await()
		d.hold.Reset(d.holdTime())
	}
}

// Captured has an artifact stored. It may be called more than once, with better ones.
func (d *Deferral) Captured(a *store.Artifact) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.g
	e := g.s.e
	e.count(stats.Captures)
	g.mu.Lock()
	e.log.Disk.Debug("captured", "program", g.label(), "variants", a.Variants)
	g.keep(newEntry(g.job.Key, g.job.Recipe, a, d.cost), d.unlock)
	g.mu.Unlock()
	d.taken, d.unlock = true, nil
	d.release()
}

// Dropped says why there will be no artifact of the launches so far.
func (d *Deferral) Dropped(why any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.g.s.e
	e.count(stats.CapturesDropped)
	e.log.Disk.Info("not captured", "program", d.g.Label(), "error", why)
	d.release()
}

// Release ends the build lock, if it is still held.
func (d *Deferral) Release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release()
}

func (d *Deferral) release() {
	if d.hold != nil {
		d.await()
		d.hold.Stop()
	}
	if d.unlock != nil {
		d.unlock()
		d.unlock = nil
	}
}

// Cost returns what the build costs: see [Group.Cost].
func (d *Deferral) Cost() time.Duration { return d.cost }

// Headers returns the contents of the header files that the program reads and the store
// does not have, for whoever makes the artifact elsewhere.
func (d *Deferral) Headers() map[key.Digest][]byte {
	contents, _ := d.g.reading.Take()
	return d.g.s.e.keeper.HeaderContents(d.g.Job().Recipe, contents, nil)
}
