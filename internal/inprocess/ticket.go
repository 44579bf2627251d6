package inprocess

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Patience bounds how long a request waits before there is anything to say: for another
// thread's build, or another process's (which the engine bounds by two minutes), or for a
// file system. Then the host's compiler builds.
const Patience = 130 * time.Second

// AtOnce is how long an answer is waited for before there is none yet: as long as it takes to
// find an artifact where nothing is in the way.
const AtOnce = 5 * time.Millisecond

// Ticket is a request for one device that a thread of the host drives through the engine, by
// steps that its front end in C is told of. The search for header files, and what follows a
// build, have goroutines of their own. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	// These are set before Wait is called. Serve makes a message of an artifact; an error says
	// why it cannot be restored. Outcome reads how a step ended. Passed, which may be nil, is
	// called before the host's compiler builds and nobody is told how that ends.
	Serve   func(*store.Artifact) (front.Message, error)
	Outcome func(front.Message) Outcome
	Passed  func()

	frontEnd FrontEnd
	found    chan struct{} // closed when it is known what the request means; nil: it is
	ended    chan struct{} // closed when the host does nothing more

	mu    sync.Mutex
	group *engine.Group // nil: it is not known what the request means, or err says why not
	err   error
	since time.Time // the wait began, or the step
	begun time.Time // from here on counts what restoring takes
	step  engine.Step
	over  bool // the host does nothing more
}

// Outcome is how a step ended.
type Outcome struct {
	Result front.Result
	Took   time.Duration                    // the compiler
	Made   func(*key.Recipe) engine.Outcome // of front.Built: what is to be stored
}

// Ticket begins a request. search is called where header files have to be searched, and
// what it returns when that is over; it may be nil.
func (d FrontEnd) Ticket(s *engine.Session, r engine.Request, search func() (over func())) *Ticket {
	now := time.Now()
	t := &Ticket{frontEnd: d, ended: make(chan struct{}), since: now, begun: now}
	if !d.enter() {
		t.err = errClosed
		return t
	}
	defer d.asking.Done()
	known, err := s.BeginKnown(r)
	if known != nil || err != nil {
		t.take(known, err)
		return t
	}
	over := func() {}
	if search != nil {
		over = search()
	}
	t.found = make(chan struct{})
	d.Go(func() {
		defer close(t.found)
		defer over()
		var found *engine.Transaction
		err := d.Guard(func() (err error) {
			found, err = s.Begin(context.Background(), r)
			return err
		})
		t.take(found, err)
	})
	return t
}

var errClosed = errors.New("the cache is closed")

// take takes what the request means.
func (t *Ticket) take(what *engine.Transaction, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err == nil && !t.over {
		t.group = what.Group(0)
	}
}

// Wait waits for d at most, and returns what there is to say; false: nothing yet. With Pass
// the request has ended.
func (t *Ticket) Wait(d time.Duration) (front.Step, bool) {
	deadline := time.Now().Add(d)
	for {
		switch step, late := t.next(); step.Kind {
		case engine.Hit:
			m, err := t.Serve(step.Artifact)
			if err == nil {
				return front.Step{Action: front.Hit, Message: m}, true
			}
			t.Rejected(err)
		case engine.Build, engine.Bypass:
			return front.Step{Action: front.Build}, true
		case engine.Wait:
			now := time.Now()
			if !now.Before(deadline) {
				return front.Step{}, false
			}
			timer := time.NewTimer(min(deadline.Sub(now), late.Sub(now)))
			select {
			case <-step.Ready:
			case <-t.ended:
			case <-timer.C:
			}
			timer.Stop()
		default:
			if step.Err != nil {
				t.frontEnd.PassFailed(step.Err)
			}
			return t.passed()
		}
	}
}

// passed says that the host's compiler builds by itself.
func (t *Ticket) passed() (front.Step, bool) {
	if t.Passed != nil {
		t.Passed()
	}
	return front.Step{Action: front.Pass}, true
}

// errRefused says that the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// Next takes how the step ended: what follows is Build for what the driver refused, else Done.
// After End nothing is taken.
func (t *Ticket) Next(result front.Message) (front.Step, bool) {
	o := t.Outcome(result)
	step, ok := t.Current()
	switch hit := step.Kind == engine.Hit; {
	case !ok:
		t.End()
		return t.passed()
	case hit && o.Result == front.Refused:
		t.Rejected(errRefused)
		return t.Wait(AtOnce)
	case hit && o.Result == front.Restored:
		t.Restored()
	case !hit && o.Result == front.Failed:
		t.Refused()
	case !hit && o.Result == front.Built:
		t.Built(o.Took, o.Made)
	default:
		t.End()
	}
	return front.Step{Action: front.Done}, true
}

// next returns the step that is to be done, which Current returns from then on; Wait: there
// may be one when Ready is closed, and the request ends when it is late; Ended: the request
// has ended, just now if there is an error, or its step is being done.
func (t *Ticket) next() (step engine.Step, late time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.step.Kind != engine.Ended {
		return engine.Step{}, late
	}
	step = engine.Step{Kind: engine.Wait, Ready: t.found}
	if t.err == nil && t.group != nil {
		step = t.ask()
		t.err = step.Err
	}
	late = t.since.Add(Patience)
	if t.err == nil && step.Kind == engine.Wait && !time.Now().Before(late) {
		t.err = errBusy
	}
	switch {
	case t.err != nil:
		t.end()
		return engine.Step{Err: t.err}, late
	case step.Kind == engine.Wait:
		t.begun = time.Time{}
		return step, late
	case t.begun.IsZero() || step.Kind != engine.Hit:
		t.begun = time.Now()
	}
	t.step = step
	return step, late
}

// ask asks the engine; the caller holds the lock. A panic, of which nobody may know the
// request's ticket, ends the request: those who wait for it go on.
func (t *Ticket) ask() (step engine.Step) {
	answered := false
	defer func() {
		if !answered {
			t.end()
		}
	}()
	step = t.group.Next(context.Background())
	answered = true
	return step
}

// Current returns the step that is being done; false: there is none.
func (t *Ticket) Current() (engine.Step, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.step, !t.over && t.step.Kind != engine.Ended
}

// answer takes that the current step ended, and returns what it took; false: there is
// none, or it comes after End, and is not heard. After the last step the host does nothing
// more.
func (t *Ticket) answer(last bool) (took time.Duration, heard bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.step.Kind == engine.Ended {
		return 0, false
	}
	now := time.Now()
	took = now.Sub(t.begun)
	t.step, t.over, t.since, t.begun = engine.Step{}, last, now, now
	return took, true
}

// Restored says that the artifact of a Hit was restored.
func (t *Ticket) Restored() {
	if took, heard := t.answer(true); heard {
		t.group.Loaded(took)
	}
}

// Rejected says that the artifact of a Hit cannot be restored. Wait tells how to go on.
func (t *Ticket) Rejected(err error) {
	if _, heard := t.answer(false); heard {
		t.group.Rejected(context.Background(), err)
	}
}

// Refused says that the host's compiler refused the program. Its header files are looked at
// in another goroutine.
func (t *Ticket) Refused() {
	if took, heard := t.answer(true); heard {
		t.after(func() { t.group.Failed(ErrRefused, took) })
	}
}

// Built says that the program was built, which took the compiler so long, and waits a
// little for it to be stored. made returns what is to be stored, and is called in another
// goroutine.
func (t *Ticket) Built(compiled time.Duration, made func(*key.Recipe) engine.Outcome) {
	took, heard := t.answer(true)
	if !heard {
		return
	}
	t.frontEnd.WaitStored(compiled, t.after(func() {
		o := made(t.group.Job().Recipe)
		o.Took = took
		t.group.Built(o)
	}), nil)
}

// after has f tell the engine how a build ended, in another goroutine. What it returns is closed then.
func (t *Ticket) after(f func()) <-chan struct{} {
	told := make(chan struct{})
	t.frontEnd.Go(func() {
		defer close(told)
		defer t.group.Abandon()
		_ = t.frontEnd.Guard(func() error { f(); return nil })
	})
	return told
}

// End ends the request. Where it was not told before how a step ended, nothing is known of
// that, and those who wait for it go on.
func (t *Ticket) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	if t.step.Kind != engine.Ended {
		t.frontEnd.GivenUp()
	}
	t.end()
}

// end ends the request; the caller holds the lock.
func (t *Ticket) end() {
	t.over = true
	close(t.ended)
	if t.group != nil {
		t.group.Abandon()
	}
}
