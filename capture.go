package kernstash

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxVariants bounds the launches that one artifact is made ready for.
const maxVariants = 64

// captureState is what a unit's capture knows. It is guarded by captures.mu.
type captureState struct {
	deferral *engine.Deferral // nil: nothing is captured
	launched []string         // variants: launched here, or in the stored artifact; sorted
}

// captures takes the artifacts of deferring drivers: after launches, when the
// application pauses, because while such a driver hands out its code it blocks
// every launch (see docs/decisions/024-capture-of-pocl.md).
type captures[P, K any] struct {
	x     *Context[P, K]
	quiet time.Duration
	rt    capability.Capturer[P, Job] // nil: the runtime never defers

	mu      sync.Mutex
	ended   *sync.Cond // of run
	queue   []*unit[P, K]
	current *unit[P, K]   // being captured
	running bool          // run is under way: as long as anything is queued
	closed  chan struct{} // is closed by close: no pause is waited for any more
	closing bool
	over    bool // closed: nothing is stored any more
	builds  int
	last    time.Time // of the last build or new launch
}

func (c *captures[P, K]) init(x *Context[P, K]) {
	c.x = x
	c.quiet = x.cache.Settings().CaptureQuiet
	c.rt, _ = x.rt.(capability.Capturer[P, Job])
	c.ended = sync.NewCond(&c.mu)
	c.closed = make(chan struct{})
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
	if !slices.Contains(c.queue, u) {
		u.live.Retain()
		c.queue = append(c.queue, u)
	}
	if !c.running {
		c.running = true
		go c.run()
	}
}

// rest returns how long the application must still pause.
func (c *captures[P, K]) rest() time.Duration {
	if c.builds > 0 {
		return c.quiet
	}
	return c.quiet - time.Since(c.last)
}

// run captures one unit after the other, each when the application pauses.
func (c *captures[P, K]) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		if rest := c.rest(); rest > 0 && !c.closing {
			c.mu.Unlock()
			select {
			case <-time.After(rest):
			case <-c.closed:
			}
			c.mu.Lock()
			continue
		}
		u := c.queue[0]
		c.queue = c.queue[1:]
		c.current = u
		variants, again := slices.Clone(u.capture.launched), u.capture.deferral.Taken()
		c.mu.Unlock()
		artifact, err := c.take(u, variants, again)
		c.mu.Lock()
		c.current = nil
		busy := errors.Is(err, ErrBusy) && !c.over
		switch {
		case !busy:
			c.done(u, artifact, err)
		case !slices.Contains(c.queue, u):
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
		if busy {
			c.last = time.Now() // of the launches under way
		}
	}
	c.running = false
	c.ended.Broadcast()
}

// take calls the runtime, in a goroutine that it may end; a panic becomes an error.
func (c *captures[P, K]) take(u *unit[P, K], variants []string, again bool) (a *store.Artifact, err error) {
	var call flight.Result
	_, err = call.Do(context.Background(), flight.Hooks{Build: func(ctx context.Context) (err error) {
		a, err = c.rt.Capture(ctx, Job(u.group.Job()), u.live.Native(), variants, again)
		return err
	}})
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

// flush waits until nothing is queued and no capture runs; false: deadline came first.
func (c *captures[P, K]) flush(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return flight.Await(c.ended, deadline, func() bool { return !c.running })
}

// close captures what is queued, until deadline, and returns the programs that it drops.
func (c *captures[P, K]) close(deadline time.Time) (dropped []string) {
	c.mu.Lock()
	c.closing = true
	close(c.closed)
	flight.Await(c.ended, deadline, func() bool { return !c.running })
	c.over = true
	left := c.queue
	c.queue = nil
	all := left
	if c.current != nil {
		all = append(slices.Clip(left), c.current)
	}
	for _, u := range all {
		dropped = append(dropped, u.group.Label())
	}
	for _, u := range left {
		c.x.cache.Count(stats.CapturesDropped, 1)
		u.capture.deferral.Release()
	}
	c.mu.Unlock()
	if d, ok := c.x.rt.(capability.Delegator); ok && d.Delegates() && c.x.cache.Writes() {
		c.leave(all)
	}
	for _, u := range left {
		u.live.Release()
	}
	return dropped
}

// maxLeave bounds the captures that one Close leaves to the worker: each is a file.
const maxLeave = 64

// leave leaves captures that this process has no time for to the worker, and starts one
// if the settings say so. No launch is noted any more.
func (c *captures[P, K]) leave(all []*unit[P, K]) {
	dir, _ := os.Getwd() // "": not known
	waits := false
	for _, u := range all[:min(len(all), maxLeave)] {
		d, recipe := u.capture.deferral, u.group.Job().Recipe
		res, err := c.x.cache.AddJob(context.Background(), spool.Job{
			Kind: spool.Capture, Recipe: recipe, Variants: u.capture.launched, Cost: d.Cost(),
			Environment: spool.Take(os.Environ(), recipe, dir), Headers: d.Headers(),
		})
		if err != nil {
			if t := c.x.cache.Loggers().Disk; t != nil {
				t.Info("not left to the worker", "reason", err.Error())
			}
		}
		waits = waits || res.Waits()
	}
	if waits {
		c.x.cache.Start()
	}
}
