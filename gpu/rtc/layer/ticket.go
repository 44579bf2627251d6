package layer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/stats"
)

// patience bounds how long a request waits before there is anything to say: for another
// thread's compile, or another process's (which the core bounds by two minutes). Then
// the compiler compiles.
var patience = 130 * time.Second

// tries bounds how often a request for what another ticket makes is begun anew, because
// that was given up.
const tries = 3

// Ticket is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	l       *Layer
	id      uint64
	pool    *pool
	request kernstash.Request
	begun   time.Time
	ctx     context.Context
	cancel  context.CancelFunc
	steps   chan *step    // the compile that the core wants
	through chan struct{} // closed when the core is through
	ended   chan struct{} // closed when nothing more is to be said
	served  *rtc.Output   // what the core made or found; to be read when it is through
	err     error         // why it failed; likewise

	mu      sync.Mutex
	stepped bool  // the core had a compile done here
	over    bool  // nothing more is to be said
	current *step // asked for, and not said how it ended
}

// step is a compile.
type step struct {
	done chan stepResult // takes one
}

type stepResult struct {
	output *rtc.Output // nil: nothing that could be stored
	took   time.Duration
	err    error
}

// ID returns the ticket's number.
func (t *Ticket) ID() uint64 { return t.id }

// ask has the core asked, in a goroutine of its own.
func (t *Ticket) ask() {
	t.l.pending.Add(1)
	t.l.asking.Go(func() {
		defer t.l.pending.Add(-1)
		defer t.cancel()
		defer close(t.through)
		t.err = t.l.guarded(t.program)
		if errors.Is(t.err, kernstash.ErrAbandoned) {
			t.l.report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: "given up"}, t.pool.door())
		}
	})
}

// program has the core make the program.
func (t *Ticket) program() error {
	for try := 1; ; try++ {
		p, err := t.pool.core.Program(t.ctx, t.request)
		if errors.Is(err, kernstash.ErrAbandoned) && !t.hasStepped() && try < tries && t.ctx.Err() == nil {
			continue // by another ticket
		}
		if err != nil {
			return err
		}
		n, err := p.Native(0)
		p.Release()
		if err != nil || t.hasStepped() {
			return err
		}
		if n.output == nil {
			return fmt.Errorf("%w: another thread compiled it for itself", kernstash.ErrNotCacheable)
		}
		t.served = n.output
		return nil
	}
}

func (t *Ticket) hasStepped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stepped
}

// step has the interposer compile, and waits for how it ended.
func (t *Ticket) step(ctx context.Context) (*rtc.Output, time.Duration, error) {
	t.mu.Lock()
	t.stepped = true
	t.mu.Unlock()
	s := &step{make(chan stepResult, 1)}
	select {
	case t.steps <- s:
	case <-t.ended:
		return nil, 0, fmt.Errorf("%w: the ticket has ended", kernstash.ErrAbandoned)
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, context.Cause(ctx))
	}
	select {
	case r := <-s.done:
		return r.output, r.took, r.err
	case <-t.ended:
	case <-ctx.Done():
	}
	select {
	case r := <-s.done: // it was said before
		return r.output, r.took, r.err
	default:
		return nil, 0, fmt.Errorf("%w: the ticket has ended", kernstash.ErrAbandoned)
	}
}

// Wait waits for d at most, and returns what there is to say; ok is false where there is
// nothing yet.
func (t *Ticket) Wait(d time.Duration) (r Reply, ok bool) {
	err := t.l.guarded(func() error {
		r, ok = t.wait(d)
		return nil
	})
	if err != nil {
		return t.l.pass(stats.Panics, err.Error(), t.pool.door()), true
	}
	return r, ok
}

func (t *Ticket) wait(d time.Duration) (Reply, bool) {
	t.mu.Lock()
	over := t.over || t.current != nil
	t.mu.Unlock()
	if over {
		return Reply{Action: Pass, Reason: "there is nothing to wait for"}, true
	}
	left := patience - time.Since(t.begun)
	if left <= 0 {
		t.End()
		return t.l.pass(stats.PassedBusy, "waited too long", t.pool.door()), true
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case s := <-t.steps:
		t.mu.Lock()
		t.current = s
		t.mu.Unlock()
		return Reply{Action: Build}, true
	case <-t.through:
		t.End()
		if t.err == nil && t.served != nil {
			return Reply{Action: Serve, Output: t.served}, true
		}
		return t.l.failed(t.err, t.pool.door()), true
	case <-timer.C:
		return Reply{}, false
	}
}

// Done takes how the compile ended, and ends the ticket. After End it does nothing.
func (t *Ticket) Done(o *Outcome) {
	_ = t.l.guarded(func() error {
		t.done(o)
		return nil
	})
}

func (t *Ticket) done(o *Outcome) {
	t.mu.Lock()
	s, over := t.current, t.over
	t.current = nil
	t.mu.Unlock()
	if s == nil || over {
		t.End()
		return
	}
	r := stepResult{took: o.Took}
	switch {
	case o.Result == Built:
		r.output = o.Output
	case o.Result == Failed:
		r.err = &kernstash.BuildError{Code: o.Code, Log: o.Log}
	default:
		r.err = fmt.Errorf("%w: code %d", kernstash.ErrAbandoned, o.Code)
	}
	t.mu.Lock()
	t.over = true // what the core still does, storing, is not to be cut off
	t.mu.Unlock()
	s.done <- r
	t.l.tickets.Remove(t.id)
	if o.Result == Built {
		t.linger(o.Took)
	}
}

// What a compile is delayed by so that it is stored by a process that ends right after
// it: a hundredth of what it took, but no shorter than storing takes, and no longer than
// a moment.
const (
	lingering = 20 * time.Millisecond
	storing   = 2 * time.Millisecond
)

// linger waits a little for what was built to be stored.
func (t *Ticket) linger(took time.Duration) {
	wait := time.NewTimer(min(max(took/100, storing), lingering))
	defer wait.Stop()
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		<-t.through
		_ = t.l.guarded(func() error {
			t.l.cache.Flush(lingering)
			t.l.cache.KeepStats()
			return nil
		})
	}()
	select {
	case <-stored:
	case <-wait.C:
	}
}

// End ends the ticket. Where Done did not come before, nothing is known of the compile,
// and those who wait for it go on.
func (t *Ticket) End() {
	t.l.tickets.Remove(t.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		close(t.ended)
		t.cancel()
	}
}
