// Package flight makes a result exactly once, however many callers ask for it
// at the same time.
//
// A [Result] goes Initial → InProgress → Done or Failed. A compare-and-swap
// elects the caller whose build runs; the others wait for it, each under a
// context of its own. The build runs in a goroutine of its own: a caller that
// gives up, the elected one included, leaves it to those who still wait, and
// only when nobody is left is the build's context cancelled.
package flight

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// State is the state of a Result.
type State uint32

// The states of a Result.
const (
	Initial State = iota
	InProgress
	Done
	Failed // for good: the same error for everyone who asks
)

// Result is something that is made at most once at a time. The zero value is
// ready, and must not be copied.
type Result struct {
	settled atomic.Uint32 // Done or Failed, else Initial
	call    atomic.Pointer[call]
	err     error // written before settled becomes Failed
}

// Hooks say how a result is made and who counts its users.
type Hooks struct {
	// Build makes the result. Its context carries the values of the elected
	// caller's context and ends when nobody waits any more.
	Build func(ctx context.Context) error

	// Keep says whether an error of Build is final. Other errors are
	// forgotten, and whoever waited for the failed build tries once more.
	Keep func(err error) bool

	// Take is called for each caller before its Do returns nil after a wait,
	// and Drop once per successful build when all of them have taken: between
	// Build and Drop the result has a user. Both may be nil.
	Take func()
	Drop func()

	// Waited is called once for each caller that finds a build under way.
	Waited func()
}

// State returns the state of the moment.
func (r *Result) State() State {
	if s := State(r.settled.Load()); s != Initial {
		return s
	}
	if r.call.Load() != nil {
		return InProgress
	}
	// A build may have ended between the two looks; it settles first.
	return State(r.settled.Load())
}

// Done reports whether the result has been made. It takes no lock.
func (r *Result) Done() bool { return State(r.settled.Load()) == Done }

// Err returns the error of a Failed result.
func (r *Result) Err() error {
	if State(r.settled.Load()) == Failed {
		return r.err
	}
	return nil
}

// Do makes the result, or waits for the build that is under way. It returns
// nil when the result is Done; taken says that Hooks.Take has been called for
// this caller, which it has unless the result was Done before. An error is
// that of the build, or the cause of ctx's end. A build that asks for a result
// that waits for that build itself gets ErrCycle.
func (r *Result) Do(ctx context.Context, h Hooks) (taken bool, err error) {
	retried := false
	for {
		switch State(r.settled.Load()) {
		case Done:
			return false, nil
		case Failed:
			return false, r.err
		}
		c, leader := r.enter(ctx, h)
		if c == nil {
			continue
		}
		if !leader && h.Waited != nil && !retried {
			h.Waited()
		}
		err := c.wait(ctx)
		if err == nil {
			return true, nil
		}
		if err == errSettled {
			continue
		}
		if c.abandonedUnder(err) && ctx.Err() == nil {
			continue // it was given up before we came: not a failure of the build
		}
		if leader || retried || !c.spurious(err) {
			return false, err
		}
		retried = true
	}
}

// enter joins the build under way or starts one. A nil call means that it
// ended meanwhile.
func (r *Result) enter(ctx context.Context, h Hooks) (c *call, leader bool) {
	if c = r.call.Load(); c != nil {
		if !c.join() {
			// Ended: its goroutine is about to clear the field, or has settled.
			r.call.CompareAndSwap(c, nil)
			return nil, false
		}
		return c, false
	}
	build, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c = &call{hooks: h, cancel: cancel, ended: make(chan struct{}), waiting: 1}
	if !r.call.CompareAndSwap(nil, c) {
		cancel()
		return nil, false
	}
	if State(r.settled.Load()) != Initial {
		// A build ended between our look at the state and the election.
		c.close(errSettled)
		r.call.CompareAndSwap(c, nil)
		cancel()
		return nil, false
	}
	go r.run(context.WithValue(build, callKey{}, c), c)
	return c, true
}

// run makes the result and tells everyone. It has a goroutine of its own, so
// a build that ends its goroutine harms nobody.
func (r *Result) run(ctx context.Context, c *call) {
	err := ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		r.settle(c, err)
	}()
	err = c.hooks.Build(ctx)
}

// settle ends a call.
func (r *Result) settle(c *call, err error) {
	switch {
	case err == nil:
		r.settled.Store(uint32(Done))
	case c.hooks.Keep != nil && c.hooks.Keep(err) && !IsPanic(err):
		r.err = err
		r.settled.Store(uint32(Failed))
	}
	c.close(err)
	r.call.CompareAndSwap(c, nil)
	c.cancel()
}

// call is one run of a build and those who wait for it.
type call struct {
	hooks  Hooks
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // written before ended is closed

	mu        sync.Mutex
	waiting   int  // callers that have neither taken nor given up
	closed    bool // no one may join any more
	abandoned bool // the build's context was cancelled
}

// join adds a caller; false when the build has ended.
func (c *call) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.waiting++
	return true
}

// close ends the call.
func (c *call) close(err error) {
	c.mu.Lock()
	c.closed = true
	c.err = err
	idle := c.waiting == 0
	c.mu.Unlock()
	close(c.ended)
	if idle {
		c.drop()
	}
}

// wait waits for the end, or for the caller's.
func (c *call) wait(ctx context.Context) error {
	leaveGraph, err := enterGraph(ctx, c)
	if err != nil {
		c.leave(false)
		return err
	}
	defer leaveGraph()
	select {
	case <-c.ended:
	default:
		select {
		case <-c.ended:
		case <-ctx.Done():
			c.leave(false)
			return context.Cause(ctx)
		}
	}
	c.leave(c.err == nil)
	return c.err
}

// leave ends a caller's part in the call.
func (c *call) leave(take bool) {
	if take && c.hooks.Take != nil {
		c.hooks.Take()
	}
	c.mu.Lock()
	c.waiting--
	last := c.waiting == 0
	closed := c.closed
	if last && !closed {
		c.abandoned = true
		c.cancel()
	}
	c.mu.Unlock()
	if last && closed {
		c.drop()
	}
}

// drop says that nobody needs the call any more. Called once: by whoever comes
// last, the build or a waiter.
func (c *call) drop() {
	if c.err == nil && c.hooks.Drop != nil {
		c.hooks.Drop()
	}
}

// abandonedUnder reports whether err comes from the build having been given up
// by everybody else.
func (c *call) abandonedUnder(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed && c.abandoned && err == c.err
}

// spurious reports whether another try may help.
func (c *call) spurious(err error) bool {
	select {
	case <-c.ended:
	default:
		return false // the caller's own end, or a cycle
	}
	if c.err != err || IsPanic(err) || isCycle(err) {
		return false
	}
	return c.hooks.Keep == nil || !c.hooks.Keep(err)
}
