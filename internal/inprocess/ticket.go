package inprocess

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// MaxWait bounds how long a request waits before there is anything to say: for another
// thread's build, or another process's (which the engine bounds by two minutes), or for a
// file system. Then the host's compiler builds.
const MaxWait = 130 * time.Second

// AtOnce is how long an answer is waited for before there is none yet: as long as it takes to
// find an artifact where nothing is in the way.
const AtOnce = 5 * time.Millisecond

// Ticket is a request that a thread of the host drives through the engine, by steps that its
// front end in C is told of. The search for header files, and what follows a build, have
// goroutines of their own. Its methods may be called from any goroutine, one at a time, but
// End, which may be called at any time.
type Ticket struct {
	// These are set before Wait is called. MaxWait bounds a wait. Passed, which may be nil, is
	// called before the host's compiler builds and nobody is told how that ends.
	MaxWait time.Duration
	Passed  func()

	// Of a request for one device, Serve makes a message of an artifact; an error says why it
	// cannot be restored. Outcome reads how a step ended.
	Serve   func(*store.Artifact) (front.Message, error)
	Outcome func(front.Message) Outcome

	// Of one for several, All says what is to be done for all parts. How it ended the front end
	// tells the engine by itself, after Answer.
	All func([]Part) front.Message

	frontEnd FrontEnd
	found    chan struct{} // closed when it is known what the request means; nil: it is
	ended    chan struct{} // closed when the host does nothing more

	mu    sync.Mutex
	parts []Part // in the order of their keys; nil: it is not known what the request means, or err says why not
	err   error
	since time.Time // the wait began, or the step
	begun time.Time // from here on counts what restoring takes; zero: something was waited for
	asked bool      // the host does what is to be done
	over  bool      // the host does nothing more
}

// Part is a group of equal devices of a request, and what is to be done for it.
type Part struct {
	Group       *engine.Group
	engine.Step           // Ended: it is not known yet
	begun       time.Time // what it takes is counted from here on
}

// Took returns how long the part's step has taken until now.
func (p *Part) Took() time.Duration { return time.Since(p.begun) }

// Outcome is how a step ended.
type Outcome struct {
	Result front.Result
	Took   time.Duration                    // the compiler
	Made   func(*key.Recipe) engine.Outcome // of front.Built: what is to be stored; called in another goroutine
}

// Ticket begins a request. search is called where header files have to be searched, and
// what it returns when that is over; it may be nil.
func (d FrontEnd) Ticket(s *engine.Session, r engine.Request, search func() (over func())) *Ticket {
	now := time.Now()
	t := &Ticket{MaxWait: MaxWait, frontEnd: d, ended: make(chan struct{}), since: now, begun: now}
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
	t.search(s, r, over)
	return t
}

// search has header files searched. It is a function of its own, as what the goroutine needs is
// allocated for it.
func (t *Ticket) search(s *engine.Session, r engine.Request, over func()) {
	t.found = make(chan struct{})
	t.frontEnd.Go(func() {
		defer close(t.found)
		defer over()
		var found *engine.Transaction
		err := t.frontEnd.Guard(func() (err error) {
			found, err = s.Begin(context.Background(), r)
			return err
		})
		t.take(found, err)
	})
}

var errClosed = errors.New("the cache is closed")

// take takes what the request means. All processes and threads come to the parts in the order
// of their keys: none waits for a part while another, which waits for it, has an earlier one.
func (t *Ticket) take(what *engine.Transaction, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err != nil || t.over {
		return
	}
	for _, g := range what.Groups() {
		t.parts = append(t.parts, Part{Group: g})
	}
	slices.SortFunc(t.parts, func(a, b Part) int {
		x, y := a.Group.Job().Key.Sum, b.Group.Job().Key.Sum
		return bytes.Compare(x[:], y[:])
	})
}

// Searched reports whether header files were searched.
func (t *Ticket) Searched() bool { return t.found != nil }

// Wait waits for d at most, and returns what there is to say; false: nothing yet. With Pass
// the request has ended. A panic, after which nobody may know the ticket, ends it, too: those who
// wait for it go on.
func (t *Ticket) Wait(d time.Duration) (front.Step, bool) {
	defer func() {
		if v := recover(); v != nil {
			t.End()
			panic(v)
		}
	}()
	deadline := time.Now().Add(d)
	for {
		switch step, late := t.next(); {
		case step.Kind == engine.Wait:
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
		case step.Kind == engine.Ended:
			if step.Err != nil {
				t.frontEnd.passFailed(step.Err, t.since)
			}
			return t.passed()
		case t.All != nil:
			return front.Step{Action: front.Hit, Message: t.All(t.parts)}, true
		case step.Kind == engine.Hit:
			m, err := t.Serve(step.Artifact)
			if err == nil {
				return front.Step{Action: front.Hit, Message: m}, true
			}
			t.rejected(err)
		default:
			return front.Step{Action: front.Build, Message: unkept(step)}, true
		}
	}
}

// unkept says with a Build that nothing is kept of what is built.
func unkept(step engine.Step) front.Message {
	if step.Kind != engine.Bypass {
		return nil
	}
	return front.Message{{Tag: front.Passed}}
}

// passed says that the host's compiler builds by itself.
func (t *Ticket) passed() (front.Step, bool) {
	if t.Passed != nil {
		t.Passed()
	}
	return front.Step{Action: front.Pass}, true
}

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
		t.rejected(errors.New("the driver refused it"))
		return t.Wait(AtOnce)
	case hit && o.Result == front.Restored:
		t.Restored()
	case !hit && (o.Result == front.Failed || o.Result == front.Built):
		t.compiled(o)
	default:
		t.End()
	}
	return front.Step{Action: front.Done}, true
}

// next returns the step that is to be done, the first part's, which Current returns from then
// on; Wait: there may be one when Ready is closed, and the request ends when it is late; Ended:
// the request has ended, just now if there is an error, or its step is being done.
func (t *Ticket) next() (step engine.Step, late time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.asked {
		return engine.Step{}, late
	}
	var ready <-chan struct{} = t.found
	if t.err == nil && t.parts != nil {
		ready = t.ask()
	}
	late = t.since.Add(t.MaxWait)
	if t.err == nil && ready != nil && !time.Now().Before(late) {
		t.err = errBusy
	}
	switch {
	case t.err != nil:
		t.end()
		return engine.Step{Err: t.err}, late
	case ready != nil:
		t.begun = time.Time{}
		return engine.Step{Kind: engine.Wait, Ready: ready}, late
	}
	t.asked = true
	return t.parts[0].Step, late
}

// ask asks the engine what is to be done for each part. It returns what is closed when somebody
// else has built one of them; nil: it is known of all, or t.err says why nobody asks further.
// The caller holds the lock.
func (t *Ticket) ask() (ready <-chan struct{}) {
	for i := range t.parts {
		p := &t.parts[i]
		switch {
		case p.Kind != engine.Ended || t.err != nil:
			continue
		case ready != nil:
			p.Group.Follow()
			continue
		}
		switch step := p.Group.Next(context.Background()); {
		case step.Err != nil:
			t.err = step.Err
		case step.Kind == engine.Wait:
			ready = step.Ready
		default:
			p.Step, p.begun = step, t.begun
			if step.Kind != engine.Hit || t.begun.IsZero() {
				p.begun = time.Now()
			}
		}
	}
	return ready
}

// Current returns the step that is being done, of the first part; false: there is none.
func (t *Ticket) Current() (step engine.Step, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || !t.asked {
		return engine.Step{}, false
	}
	return t.parts[0].Step, true
}

// Answer takes that what was to be done ended; false: nothing was, or it comes after End, and
// is not heard. After the last step the host does nothing more.
func (t *Ticket) Answer(last bool) (heard bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || !t.asked {
		return false
	}
	t.asked, t.over, t.since, t.begun = false, last, time.Now(), time.Now()
	return true
}

// Restored says that the artifact of a Hit was restored.
func (t *Ticket) Restored() {
	if t.Answer(true) {
		p := &t.parts[0]
		p.Group.Loaded(p.Took())
	}
}

// rejected says that the artifact of a Hit cannot be restored. Wait tells how to go on.
func (t *Ticket) rejected(err error) {
	if t.Answer(false) {
		t.parts[0].Rejected(err)
	}
}

// Rejected says that the artifact of a Hit cannot be restored: Wait tells what is to be done
// instead.
func (p *Part) Rejected(err error) {
	p.Step = engine.Step{}
	p.Group.Rejected(context.Background(), err)
}

// compiled says how the host's compiler ended: it built, or refused, the program. The engine is
// told in another goroutine, which looks at header files. That is waited for a little.
// What is beside the source is looked at before the host goes on, which may remove it.
func (t *Ticket) compiled(o Outcome) {
	if !t.Answer(true) {
		return
	}
	p := &t.parts[0]
	took, ended, told := p.Took(), time.Now(), make(chan struct{})
	if o.Result == front.Built {
		p.Group.Settle()
	}
	t.frontEnd.Go(func() {
		defer close(told)
		defer p.Group.Abandon()
		_ = t.frontEnd.Guard(func() error {
			if o.Result == front.Failed {
				p.Group.Failed(ErrRefused, took)
				return nil
			}
			made := o.Made(p.Group.Job().Recipe)
			made.Took, made.Ended = took, ended
			p.Group.Built(made)
			return nil
		})
	})
	t.frontEnd.WaitStored(o.Took, func() { <-told })
}

// End ends the request. Where it was not told before how a step ended, nothing is known of
// that, and those who wait for it go on.
func (t *Ticket) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	if t.asked {
		t.frontEnd.GivenUp()
	}
	t.end()
}

// end ends the request; the caller holds the lock.
func (t *Ticket) end() {
	t.over = true
	close(t.ended)
	for i := range t.parts {
		t.parts[i].Group.Abandon()
	}
}
