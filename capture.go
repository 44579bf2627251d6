package kernstash

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

const (
	// maxVariants bounds the launches that one artifact is made ready for.
	maxVariants = 64

	// A build lock is held for a program that its application has not launched
	// yet for at least holdLock, or holdFactor times what the build took. Then
	// other processes build for themselves.
	holdLock   = time.Second
	holdFactor = 2
)

// captureState is what a unit's capture knows. It is guarded by captures.mu.
type captureState struct {
	cacheable bool
	launched  []string // variants: launched here, or in the stored artifact; sorted
	taken     bool     // an artifact was taken or loaded before
	queued    bool
	awaiting  bool // built, the lock held, not launched
	explain   bool
	cost      time.Duration
	unlock    func()
	hold      *time.Timer
}

// captures takes the artifacts of deferring drivers: after launches, when the
// application pauses, because while such a driver hands out its code it blocks
// every launch (see docs/decisions/024-capture-of-pocl.md).
type captures[P, K any] struct {
	x     *Context[P, K]
	quiet time.Duration
	rt    Capturer[P] // nil: the runtime never defers

	mu      sync.Mutex
	changed *sync.Cond
	queue   []*unit[P, K]
	current *unit[P, K] // being captured
	running bool
	closing bool
	over    bool // closed: nothing is stored any more
	builds  int
	last    time.Time // of the last build or new launch
	timer   *time.Timer
}

func (c *captures[P, K]) init(x *Context[P, K]) {
	c.x = x
	c.quiet = x.cache.settings.CaptureQuiet
	c.rt, _ = x.rt.(Capturer[P])
	c.changed = sync.NewCond(&c.mu)
}

// possible says whether a job's artifact comes after launches.
func (c *captures[P, K]) possible(job Job) bool { return c.rt != nil && c.rt.Defers(job) }

// busy notes builds that begin (+1) and end (−1).
func (c *captures[P, K]) busy(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builds += n
	c.last = time.Now()
}

// await keeps the build lock of a unit until it is launched and captured, or
// for a bounded time.
func (c *captures[P, K]) await(u *unit[P, K], unlock func(), explain bool, cost time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &u.capture
	s.cacheable, s.explain, s.cost, s.unlock = true, explain, cost, unlock
	if unlock != nil {
		s.awaiting = true
		c.x.cache.awaiting.Add(1)
		s.hold = time.AfterFunc(max(holdLock, holdFactor*cost), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.release(u)
		})
	}
}

// restored notes that a unit was loaded from an artifact.
func (c *captures[P, K]) restored(u *unit[P, K], a *store.Artifact) {
	if c.rt == nil || len(a.Binaries) == 0 || a.Binaries[0].Form != store.FormDeferred {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &u.capture
	s.cacheable, s.taken, s.cost = c.x.cache.writes(), true, a.Cost
	s.launched = slices.Clone(a.Variants)
}

// release ends the build lock of a unit, if it is still held.
func (c *captures[P, K]) release(u *unit[P, K]) {
	s := &u.capture
	c.launchedAtLast(s)
	if s.hold != nil {
		s.hold.Stop()
	}
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
}

func (c *captures[P, K]) launchedAtLast(s *captureState) {
	if s.awaiting {
		s.awaiting = false
		c.x.cache.awaiting.Add(-1)
	}
}

// launched notes a launch; a new variant is captured after a pause.
func (c *captures[P, K]) launched(u *unit[P, K], variant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &u.capture
	if !s.cacheable || c.closing || len(s.launched) >= maxVariants {
		return
	}
	at, known := slices.BinarySearch(s.launched, variant)
	if known {
		return
	}
	s.launched = slices.Insert(s.launched, at, variant)
	c.last = time.Now()
	c.launchedAtLast(s)
	if s.hold != nil {
		s.hold.Reset(max(holdLock, holdFactor*s.cost)) // now it depends on us alone
	}
	if !s.queued {
		s.queued = true
		u.live.Retain()
		c.queue = append(c.queue, u)
	}
	c.arm(c.quiet)
}

// arm sees that fire runs after d.
func (c *captures[P, K]) arm(d time.Duration) {
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
		return
	}
	c.timer.Reset(d)
}

// fire starts capturing if the application pauses, else it waits on.
func (c *captures[P, K]) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || len(c.queue) == 0 || c.closing {
		return
	}
	if rest := c.rest(); rest > 0 {
		c.arm(rest)
		return
	}
	c.running = true
	go c.run()
}

// rest returns how long the application must still pause.
func (c *captures[P, K]) rest() time.Duration {
	if c.builds > 0 {
		return c.quiet
	}
	return c.quiet - time.Since(c.last)
}

// run captures one unit after the other until the application is busy again.
func (c *captures[P, K]) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		if rest := c.rest(); rest > 0 && !c.closing {
			c.arm(rest)
			break
		}
		u := c.queue[0]
		c.queue = c.queue[1:]
		c.current = u
		u.capture.queued = false
		variants, again := slices.Clone(u.capture.launched), u.capture.taken
		c.mu.Unlock()
		artifact, err := c.take(u, variants, again)
		c.mu.Lock()
		c.current = nil
		busy := errors.Is(err, ErrBusy) && !c.over
		switch {
		case !busy:
			c.done(u, artifact, err)
		case !u.capture.queued:
			u.capture.queued = true
			c.queue = append(c.queue, u)
			u = nil // its use goes with it
		}
		c.mu.Unlock()
		if u != nil {
			u.live.Release() // takes c.mu
		}
		if busy {
			time.Sleep(time.Millisecond)
		}
		c.mu.Lock()
		if busy && !c.closing {
			c.arm(c.quiet)
			break
		}
	}
	c.running = false
	c.changed.Broadcast()
}

// take calls the runtime, in a goroutine that it may end; a panic in it becomes
// an error.
func (c *captures[P, K]) take(u *unit[P, K], variants []string, again bool) (a *store.Artifact, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = flight.ErrGoexit // unless guard returns
		err = guard(func() (err error) {
			a, err = c.rt.Capture(context.Background(), u.job, u.live.Native(), variants, again)
			return err
		})
	}()
	<-done
	return a, err
}

// done hands an artifact to the storer, with the build lock.
func (c *captures[P, K]) done(u *unit[P, K], a *store.Artifact, err error) {
	s := &u.capture
	cache := c.x.cache
	if c.over || err != nil || a == nil || len(a.Binaries) == 0 {
		cache.stats.Add(stats.CapturesDropped, 1)
		on(cache.trace.disk, func(l *slog.Logger) { l.Info("not captured", "program", u.label(), "error", err) })
		c.release(u)
		return
	}
	cache.stats.Add(stats.Captures, 1)
	on(cache.trace.disk, func(l *slog.Logger) { l.Debug("captured", "program", u.label(), "variants", a.Variants) })
	s.taken = true
	u.live.SetBytes(a.Size())
	e := newEntry(u.key, u.job.Recipe, a, s.cost)
	c.x.keep(u, e, s.explain, s.unlock)
	s.unlock, s.explain = nil, false
	c.release(u)
}

// abandon ends the capture of a unit that nobody uses any more: it was never
// launched, else its capture would hold it.
func (c *captures[P, K]) abandon(u *unit[P, K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := &u.capture; s.cacheable && !s.taken && len(s.launched) == 0 {
		s.cacheable = false
		c.x.cache.stats.Add(stats.CapturesDropped, 1)
		on(c.x.cache.trace.disk, func(l *slog.Logger) {
			l.Info("not captured", "program", u.label(), "error", "never launched")
		})
	}
	c.release(u)
}

// flush waits until nothing is queued and no capture runs; false: deadline came
// first.
func (c *captures[P, K]) flush(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := c.wakeAt(deadline)
	defer wake.Stop()
	for (c.running || len(c.queue) > 0) && time.Now().Before(deadline) {
		c.changed.Wait()
	}
	return !c.running && len(c.queue) == 0
}

// wakeAt wakes who waits for a change when their time is over.
func (c *captures[P, K]) wakeAt(deadline time.Time) *time.Timer {
	return time.AfterFunc(time.Until(deadline), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
}

// close captures what is queued, until deadline, and returns the programs that
// it had to drop.
func (c *captures[P, K]) close(deadline time.Time) (dropped []string) {
	c.mu.Lock()
	c.closing = true
	if c.timer != nil {
		c.timer.Stop()
	}
	if len(c.queue) > 0 && !c.running {
		c.running = true
		go c.run()
	}
	wake := c.wakeAt(deadline)
	defer wake.Stop()
	for c.running && time.Now().Before(deadline) {
		c.changed.Wait()
	}
	c.over = true
	left := c.queue
	c.queue = nil
	var leave []leaving
	for _, u := range left {
		dropped = append(dropped, u.label())
		leave = append(leave, c.leaving(u))
		u.capture.queued = false
		c.x.cache.stats.Add(stats.CapturesDropped, 1)
		c.release(u)
	}
	if c.current != nil {
		dropped = append(dropped, c.current.label())
		leave = append(leave, c.leaving(c.current))
	}
	c.mu.Unlock()
	c.x.cache.leave(leave)
	for _, u := range left {
		u.live.Release()
	}
	return dropped
}
