// Package flight makes a result exactly once, however many callers ask for it
// at the same time.
//
// A [Result] goes Initial → InProgress → Done or Failed. The first caller's build
// runs; the others wait for it, each under a context of its own. The build runs in a
// goroutine of its own: a caller that gives up, the first one included, leaves it to
// those who still wait, and only when nobody is left is the build's context cancelled.
//
// [Open] and [Await] are for waits of other kinds.
package flight

import (
	"context"
	"errors"
	"fmt"
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
	settled atomic.Uint32 // Done or Failed, else Initial; written with mu held

	mu   sync.Mutex
	call *call // under way; nil: none
	err  error // of Failed
}

// Hooks say how a result is made and who counts its users.
type Hooks struct {
	// Build makes the result. Its context carries the values of the elected
	// caller's context and ends when nobody waits any more.
	Build func(ctx context.Context) error

	// Keep reports whether an error of Build is final. Other errors are
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.call != nil {
		return InProgress
	}
	return State(r.settled.Load())
}

// Done reports whether the result has been made. It takes no lock.
func (r *Result) Done() bool { return State(r.settled.Load()) == Done }

// Do makes the result, or waits for the build that is under way. It returns
// nil when the result is Done; taken says that Hooks.Take has been called for
// this caller, which it has unless the result was Done before. An error is
// that of the build, or the cause of ctx's end. A build that asks for a result
// that waits for that build itself gets ErrCycle.
func (r *Result) Do(ctx context.Context, h Hooks) (taken bool, err error) {
	for retried := false; ; {
		if r.Done() {
			return false, nil
		}
		c, leaveGraph, err := r.enter(ctx, h)
		if c == nil {
			return false, err
		}
		leader := leaveGraph != nil
		if !leader && h.Waited != nil && !retried {
			h.Waited()
		}
		ended, err := c.wait(ctx, leaveGraph)
		switch {
		case err == nil:
			return true, nil
		case !ended:
			return false, err // the caller's own end, or a cycle
		case c.abandoned && ctx.Err() == nil:
			continue // it was given up before we came: not a failure of the build
		case leader || retried || IsPanic(err) || errors.Is(err, ErrCycle) || c.hooks.Keep != nil && c.hooks.Keep(err):
			return false, err
		}
		retried = true
	}
}

// enter joins the build under way or starts one. A nil call means that there is
// nothing to wait for: the result is made, or err says why it never will be. Of
// who starts it, leaveGraph is that of enterGraph: the build may ask for what its
// caller makes before its caller comes to wait.
func (r *Result) enter(ctx context.Context, h Hooks) (c *call, leaveGraph func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if State(r.settled.Load()) != Initial {
		return nil, nil, r.err
	}
	if r.call != nil {
		r.call.waiting++
		return r.call, nil, nil
	}
	build, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c = &call{of: r, hooks: h, cancel: cancel, ended: make(chan struct{}), waiting: 1}
	leaveGraph, _ = enterGraph(ctx, c) // no cycle: a new call waits for nobody
	r.call = c
	go c.run(context.WithValue(build, callKey{}, c))
	return c, leaveGraph, nil
}

// call is one run of a build and those who wait for it.
type call struct {
	of     *Result
	hooks  Hooks
	cancel context.CancelFunc
	ended  chan struct{}

	// Guarded by of.mu; err and abandoned do not change once ended is closed.
	err       error
	waiting   int  // callers that have neither taken nor given up
	abandoned bool // the build's context was cancelled
}

// run makes the result and tells everyone. It has a goroutine of its own, so
// a build that ends its goroutine harms nobody.
func (c *call) run(ctx context.Context) {
	err := ErrGoexit
	defer func() { c.settle(err) }()
	err = Guard(func() error { return c.hooks.Build(ctx) })
}

// settle ends the call.
func (c *call) settle(err error) {
	keeps := err != nil && c.hooks.Keep != nil && c.hooks.Keep(err) && !IsPanic(err)
	r := c.of
	r.mu.Lock()
	switch {
	case err == nil:
		r.settled.Store(uint32(Done))
	case keeps:
		r.err = err
		r.settled.Store(uint32(Failed))
	}
	c.err = err
	r.call = nil
	idle := c.waiting == 0
	r.mu.Unlock()
	close(c.ended)
	c.cancel()
	if idle {
		c.drop()
	}
}

// wait waits for the call's end, or for the caller's. leaveGraph is nil for a caller that has not started it.
func (c *call) wait(ctx context.Context, leaveGraph func()) (ended bool, err error) {
	if leaveGraph == nil {
		if leaveGraph, err = enterGraph(ctx, c); err != nil {
			c.leave(false)
			return false, err
		}
	}
	defer leaveGraph()
	select {
	case <-c.ended:
	default:
		select {
		case <-c.ended:
		case <-ctx.Done():
			c.leave(false)
			return false, context.Cause(ctx)
		}
	}
	c.leave(c.err == nil)
	return true, c.err
}

// leave ends a caller's part in the call.
func (c *call) leave(take bool) {
	if take && c.hooks.Take != nil {
		c.hooks.Take()
	}
	c.of.mu.Lock()
	c.waiting--
	last, ended := c.waiting == 0, c.of.call != c
	if last && !ended {
		c.abandoned = true
		c.cancel()
	}
	c.of.mu.Unlock()
	if last && ended {
		c.drop()
	}
}

// drop says that nobody needs the call any more. The last calls it: the build, or a waiter.
func (c *call) drop() {
	if c.err == nil && c.hooks.Drop != nil {
		c.hooks.Drop()
	}
}

// ErrCycle says that a build asked for a result that waits for that build.
var ErrCycle = errors.New("build waits for itself")

// callKey is the context key under which a build finds its own call.
type callKey struct{}

// edge says that a call's build waits for another call.
type edge struct{ from, to *call }

// waits counts the waits under way of builds that started builds of their own. Only
// nested requests take this lock.
var waits = struct {
	sync.Mutex
	edges map[edge]int
}{edges: make(map[edge]int)}

// enterGraph notes that the build that ctx belongs to, if any, waits for c.
func enterGraph(ctx context.Context, c *call) (leave func(), err error) {
	from, _ := ctx.Value(callKey{}).(*call)
	if from == nil {
		return func() {}, nil
	}
	waits.Lock()
	defer waits.Unlock()
	if reaches(c, from, make(map[*call]bool)) {
		return nil, ErrCycle
	}
	own := edge{from, c}
	waits.edges[own]++
	return func() {
		waits.Lock()
		defer waits.Unlock()
		if waits.edges[own]--; waits.edges[own] == 0 {
			delete(waits.edges, own)
		}
	}, nil
}

// reaches reports whether a waits for b, itself included.
func reaches(a, b *call, seen map[*call]bool) bool {
	seen[a] = true
	for w := range waits.edges {
		if w.from == a && !seen[w.to] && reaches(w.to, b, seen) {
			return true
		}
	}
	return a == b
}

// PanicError is what a panic in a build becomes for everyone who waits for it.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrGoexit says that a build ended its goroutine instead of returning.
var ErrGoexit = errors.New("build called runtime.Goexit")

// IsPanic reports whether a build panicked or ended its goroutine: no error of that
// kind is kept, whatever else it says.
func IsPanic(err error) bool {
	_, panicked := errors.AsType[*PanicError](err)
	return panicked || errors.Is(err, ErrGoexit)
}

// Guard makes a *PanicError of a panic in f.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
