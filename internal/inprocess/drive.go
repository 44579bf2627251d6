package inprocess

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Patience bounds how long a request waits before there is anything to say: for another
// thread's build, or another process's (which the engine bounds by two minutes), or for a
// file system. Then the host's compiler builds.
const Patience = 130 * time.Second

// Drive is a request for one device that a thread of the host drives through the engine.
// The search for header files, and what follows a build, have goroutines of their own. Its
// methods may be called from any goroutine, one at a time, but End, which may be called at
// any time.
type Drive struct {
	door  Door
	found chan struct{} // closed when it is known what the request means; nil: it is
	ended chan struct{} // closed when the host does nothing more

	mu    sync.Mutex
	group *engine.Group // nil: it is not known what the request means, or err says why not
	err   error
	since time.Time // the wait began, or the step
	begun time.Time // from here on counts what restoring takes
	step  engine.Step
	over  bool // the host does nothing more
}

// Drive begins a request. search is called where header files have to be searched, and
// what it returns when that is over; it may be nil.
func (d Door) Drive(s *engine.Session, r engine.Request, search func() (over func())) *Drive {
	now := time.Now()
	m := &Drive{door: d, ended: make(chan struct{}), since: now, begun: now}
	if !d.enter() {
		m.err = errClosed
		return m
	}
	searches := false
	defer func() {
		if !searches { // also where a host panics
			d.asking.Done()
		}
	}()
	known, err := s.BeginKnown(r)
	if known != nil || err != nil {
		m.take(known, err)
		return m
	}
	over := func() {}
	if search != nil {
		over = search()
	}
	m.found = make(chan struct{})
	searches = true
	go func() {
		defer d.asking.Done()
		defer close(m.found)
		defer over()
		var found *engine.Transaction
		err := d.Guard(func() (err error) {
			found, err = s.Begin(context.Background(), r)
			return err
		})
		m.take(found, err)
	}()
	return m
}

var errClosed = errors.New("the cache is closed")

// take takes what the request means.
func (m *Drive) take(t *engine.Transaction, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err = err; err == nil && !m.over {
		m.group = t.Group(0)
	}
}

// Said is what Wait has to say.
type Said int

// What Wait can say.
const (
	Nothing Said = iota // there is nothing yet
	Wanted              // the step is to be done, and how it ended to be told
	Failed              // see Err; the request has ended
	Late                // it took too long; the request has ended
	Over                // there is nothing to wait for
)

// Wait waits for d at most. A step that is wanted is a Hit, a Build or a Bypass.
func (m *Drive) Wait(d time.Duration) (engine.Step, Said) {
	deadline := time.Now().Add(d)
	for {
		step, said, ready := m.next()
		left := min(time.Until(deadline), time.Until(m.late()))
		switch {
		case said != Nothing:
			return step, said
		case left <= 0:
			return step, m.nothing()
		}
		timer := time.NewTimer(left)
		select {
		case <-ready:
		case <-m.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// late returns when the host's patience is over.
func (m *Drive) late() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.since.Add(Patience)
}

// nothing returns Nothing, or Late and ends the request.
func (m *Drive) nothing() Said {
	if time.Now().Before(m.late()) {
		return Nothing
	}
	m.End()
	return Late
}

// next returns what there is to say. Where that is nothing, there may be something when
// ready is closed.
func (m *Drive) next() (step engine.Step, said Said, ready <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over || m.step.Kind != engine.Ended:
		return step, Over, nil
	case m.err == nil && m.group == nil:
		m.begun = time.Time{}
		return step, Nothing, m.found
	case m.err == nil:
		if step = m.ask(); step.Kind == engine.Wait {
			m.begun = time.Time{}
			return step, Nothing, step.Ready
		}
		m.err = step.Err
	}
	if m.err != nil {
		m.end()
		return step, Failed, nil
	}
	if m.begun.IsZero() || step.Kind != engine.Hit {
		m.begun = time.Now()
	}
	m.step = step
	return step, Wanted, nil
}

// ask asks the engine; the caller holds the lock. A panic, of which nobody may know the
// request's ticket, ends the request: those who wait for it go on.
func (m *Drive) ask() (step engine.Step) {
	answered := false
	defer func() {
		if !answered {
			m.end()
		}
	}()
	step = m.group.Next(context.Background())
	answered = true
	return step
}

// Err returns why it failed, after Wait has said so.
func (m *Drive) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Current returns the step that is being done; false: there is none.
func (m *Drive) Current() (engine.Step, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.step, !m.over && m.step.Kind != engine.Ended
}

// answer takes that the current step ended, and returns what it took; false: there is
// none, or it comes after End, and is not heard. After the last step the host does nothing
// more.
func (m *Drive) answer(last bool) (took time.Duration, heard bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.step.Kind == engine.Ended {
		return 0, false
	}
	now := time.Now()
	took = now.Sub(m.begun)
	m.step, m.over, m.since, m.begun = engine.Step{}, last, now, now
	return took, true
}

// Restored says that the artifact of a Hit was restored.
func (m *Drive) Restored() {
	if took, heard := m.answer(true); heard {
		m.group.Loaded(took)
	}
}

// Rejected says that the artifact of a Hit cannot be restored. Wait tells how to go on.
func (m *Drive) Rejected(err error) {
	if _, heard := m.answer(false); heard {
		m.group.Rejected(context.Background(), err)
	}
}

// Refused says that the host's compiler refused the program. Its header files are looked at
// in another goroutine.
func (m *Drive) Refused() {
	took, heard := m.answer(true)
	if !heard {
		return
	}
	m.door.asking.Go(func() {
		defer m.group.Abandon()
		_ = m.door.Guard(func() error {
			m.group.Failed(ErrRefused, took)
			return nil
		})
	})
}

// Built says that the program was built, which took the compiler so long, and waits a
// little for it to be stored. made returns what is to be stored, and is called in another
// goroutine.
func (m *Drive) Built(compiled time.Duration, made func(*key.Recipe) engine.Outcome) {
	took, heard := m.answer(true)
	if !heard {
		return
	}
	stored := make(chan struct{})
	m.door.asking.Go(func() {
		defer close(stored)
		defer m.group.Abandon()
		_ = m.door.Guard(func() error {
			o := made(m.group.Job().Recipe)
			o.Took = took
			m.group.Built(o)
			return nil
		})
	})
	m.door.Linger(compiled, stored, nil)
}

// End ends the request. Where it was not told before how a step ended, nothing is known of
// that, and those who wait for it go on.
func (m *Drive) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return
	}
	if m.step.Kind != engine.Ended {
		m.door.GivenUp()
	}
	m.end()
}

// end ends the request; the caller holds the lock.
func (m *Drive) end() {
	m.over = true
	close(m.ended)
	if m.group != nil {
		m.group.Abandon()
	}
}
