package kernstash

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxVariants bounds the launches that one artifact is made ready for.
const maxVariants = 64

// captureState is what a unit's capture knows. It is guarded by captures.mu.
type captureState struct {
	deferral *engine.Deferral // nil: nothing is captured
	launched []string         // variants: launched here, or in the stored artifact; sorted
	queued   bool
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
	c.quiet = x.cache.Settings().CaptureQuiet
	c.rt, _ = x.rt.(Capturer[P])
	c.changed = sync.NewCond(&c.mu)
}

// busy notes builds that begin (+1) and end (−1).
func (c *captures[P, K]) busy(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builds += n
	c.last = time.Now()
}

// made notes that a unit was made, ready for some launches.
func (c *captures[P, K]) made(u *unit[P, K], variants []string) {
	d := u.group.Deferral()
	if c.rt == nil || d == nil {
		return
	}
	if !c.x.cache.Writes() { // the process alone could use it: not worth that launches wait
		d.Release()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.capture.deferral, u.capture.launched = d, slices.Clone(variants)
}

// launched notes a launch; a new variant is captured after a pause.
func (c *captures[P, K]) launched(u *unit[P, K], variant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &u.capture
	if s.deferral == nil || c.closing || len(s.launched) >= maxVariants {
		return
	}
	at, known := slices.BinarySearch(s.launched, variant)
	if known {
		return
	}
	s.launched = slices.Insert(s.launched, at, variant)
	c.last = time.Now()
	s.deferral.Launched()
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
		variants, again := slices.Clone(u.capture.launched), u.capture.deferral.Taken()
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
		err = flight.ErrGoexit // unless Guard returns
		err = flight.Guard(func() (err error) {
			a, err = c.rt.Capture(context.Background(), Job(u.group.Job()), u.live.Native(), variants, again)
			return err
		})
	}()
	<-done
	return a, err
}

// done has an artifact stored.
func (c *captures[P, K]) done(u *unit[P, K], a *store.Artifact, err error) {
	if c.over || err != nil || a == nil || len(a.Binaries) == 0 {
		u.capture.deferral.Dropped(err)
		return
	}
	u.live.SetBytes(a.Size())
	u.capture.deferral.Captured(a)
}

// abandon ends the capture of a unit that nobody uses any more: it was never
// launched, else its capture would hold it.
func (c *captures[P, K]) abandon(u *unit[P, K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := &u.capture; {
	case s.deferral == nil:
	case !s.deferral.Taken() && len(s.launched) == 0:
		s.deferral.Dropped("never launched")
		s.deferral = nil
	default:
		s.deferral.Release()
	}
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
	var jobs []leaving
	for _, u := range left {
		dropped = append(dropped, u.group.Label())
		jobs = append(jobs, c.leaving(u))
		u.capture.queued = false
		c.x.cache.Count(stats.CapturesDropped, 1)
		u.capture.deferral.Release()
	}
	if c.current != nil {
		dropped = append(dropped, c.current.group.Label())
		jobs = append(jobs, c.leaving(c.current))
	}
	c.mu.Unlock()
	if d, ok := c.x.rt.(delegator); ok && d.Delegates() {
		leave(c.x.cache, jobs)
	}
	for _, u := range left {
		u.live.Release()
	}
	return dropped
}
