package layer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// patience bounds how long a request waits before there is anything to say: for another
// thread's build, or another process's (which the core bounds by two minutes). Then the
// driver builds.
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
	steps   chan *step    // what the core wants to be done
	through chan struct{} // closed when the core is through
	ended   chan struct{} // closed when nothing more is to be said
	err     error         // why it failed; to be read when it is through

	mu      sync.Mutex
	stepped bool             // the core had something done here
	refused bool             // what was found was refused; the core is not told yet
	over    bool             // nothing more is to be said
	current *step            // served, and not said how it ended
	found   *kernstash.Found // served without asking the core
}

// step is what the core wants to be done: an artifact to be restored, or a module to be
// built.
type step struct {
	artifact *store.Artifact // nil: build
	wanted   bool            // what is built is to be stored
	done     chan stepResult // takes one
}

type stepResult struct {
	built *store.Artifact // what was built; nil: restored, or nothing to store
	err   error
}

// errRefused is wrapped where the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// ID returns the ticket's number.
func (t *Ticket) ID() uint64 { return t.id }

// ask has the core asked, in a goroutine of its own.
func (t *Ticket) ask() {
	t.l.asking.Go(func() {
		defer t.cancel()
		defer close(t.through)
		t.err = t.l.guarded(t.program)
		if errors.Is(t.err, kernstash.ErrAbandoned) {
			t.l.report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: "given up"})
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
		if !t.hasStepped() {
			err = t.share(p)
		}
		p.Release()
		return err
	}
}

// share has a program restored that was just now made for another ticket.
func (t *Ticket) share(p *kernstash.Program[*native, struct{}]) error {
	n, err := p.Native(0)
	if err != nil {
		return err
	}
	if n.artifact == nil {
		return fmt.Errorf("%w: another thread built it for itself", kernstash.ErrNotCacheable)
	}
	if _, err := t.step(t.ctx, n.job, n.artifact); err != nil {
		return err
	}
	t.l.shared(n)
	return nil
}

func (t *Ticket) hasStepped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stepped
}

// step has the interposer do a step, and waits for how it ended.
func (t *Ticket) step(ctx context.Context, job kernstash.Job, a *store.Artifact) (*store.Artifact, error) {
	t.mu.Lock()
	known := a != nil && t.refused
	t.refused, t.stepped = false, true
	t.mu.Unlock()
	if known {
		return nil, errRefused
	}
	s := &step{artifact: a, wanted: !job.Key.IsZero() && t.l.cache.Writes(), done: make(chan stepResult, 1)}
	select {
	case t.steps <- s:
	case <-t.ended:
		return nil, fmt.Errorf("%w: the ticket has ended", kernstash.ErrAbandoned)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, context.Cause(ctx))
	}
	select {
	case r := <-s.done:
		return r.built, r.err
	case <-t.ended:
		select {
		case r := <-s.done: // it was said before
			return r.built, r.err
		default:
			return nil, fmt.Errorf("%w: the ticket has ended", kernstash.ErrAbandoned)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, context.Cause(ctx))
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
		return t.l.pass(stats.Panics, err.Error()), true
	}
	return r, ok
}

func (t *Ticket) wait(d time.Duration) (Reply, bool) {
	t.mu.Lock()
	over := t.over || t.current != nil || t.found != nil
	t.mu.Unlock()
	if over {
		return Reply{Action: Pass, Reason: "there is nothing to wait for"}, true
	}
	left := patience - time.Since(t.begun)
	if left <= 0 {
		t.end()
		return t.l.pass(stats.PassedBusy, "waited too long"), true
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case s := <-t.steps:
		t.mu.Lock()
		t.current = s
		t.mu.Unlock()
		if s.artifact != nil {
			return served(s.artifact), true
		}
		return Reply{Action: Build}, true
	case <-t.through:
		t.end()
		return t.l.failed(t.err), true
	case <-timer.C:
		return Reply{}, false
	}
}

// served returns a stored artifact as the interposer is told of it.
func served(a *store.Artifact) Reply {
	r := Reply{Action: Serve, Log: a.Log, Kernels: make([]string, len(a.Kernels)), Unknown: levelzero.UnknownNamesOf(a)}
	if len(a.Binaries) > 0 {
		r.Native = a.Binaries[0].Data
	}
	for i, k := range a.Kernels {
		r.Kernels[i] = k.Name
	}
	return r
}

// Next takes how it ended, and says what follows: Build for what the driver refused,
// else Done. Where ok is false, Wait tells.
func (t *Ticket) Next(o *Outcome) (r Reply, ok bool) {
	err := t.l.guarded(func() error {
		r, ok = t.next(o)
		return nil
	})
	if err != nil {
		return t.l.pass(stats.Panics, err.Error()), true
	}
	return r, ok
}

func (t *Ticket) next(o *Outcome) (Reply, bool) {
	t.mu.Lock()
	found, s := t.found, t.current
	t.found, t.current = nil, nil
	t.mu.Unlock()
	switch {
	case found != nil && o.Result == Refused:
		t.mu.Lock()
		t.refused, t.begun = true, time.Now()
		t.mu.Unlock()
		t.ask() // which finds it again, is told, and removes it
		return t.wait(atOnce)
	case found != nil:
		t.end()
		if o.Result != Restored {
			t.l.report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: "given up"})
			return Reply{Action: Done}, true
		}
		t.pool.core.Restored(*found, time.Since(t.begun))
		return Reply{Action: Done}, true
	case s == nil:
		t.End()
		return Reply{Action: Pass, Reason: errRequest.Error()}, true
	}
	result := s.result(o)
	s.done <- result
	if errors.Is(result.err, errRefused) {
		t.begun = time.Now() // of another wait
		return t.wait(atOnce)
	}
	t.mu.Lock()
	t.over = true // what the core still does, storing, is not to be cut off
	t.mu.Unlock()
	if o.Result == Built {
		t.linger(o.Took)
	}
	return Reply{Action: Done}, true
}

// result says what an outcome means for the step.
func (s *step) result(o *Outcome) stepResult {
	switch {
	case s.artifact != nil && o.Result == Restored:
		return stepResult{}
	case s.artifact != nil && o.Result == Refused:
		return stepResult{err: errRefused}
	case s.artifact == nil && o.Result == Failed:
		return stepResult{err: &kernstash.BuildError{Code: o.Code, Log: o.Log}}
	case s.artifact == nil && o.Result == Built:
		return stepResult{built: s.taken(o)}
	}
	return stepResult{err: fmt.Errorf("%w: code %d", kernstash.ErrAbandoned, o.Code)}
}

// taken returns the artifact of what was built, in memory of its own; nil where there is
// nothing to store.
func (s *step) taken(o *Outcome) *store.Artifact {
	if len(o.Native) == 0 || !s.wanted {
		return nil
	}
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: bytes.Clone(o.Native)}, o.Unknown.Binary()},
		Log:      o.Log, Cost: o.Took,
	}
	for _, name := range o.Kernels {
		a.Kernels = append(a.Kernels, store.Kernel{Name: name})
	}
	return a
}

// What a build is delayed by so that it is stored by a process that ends right after it: a
// hundredth of what it took, but no shorter than storing takes, and no longer than a
// moment.
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

// End ends the ticket. Where the last Next did not come before, nothing is known of the
// build, and those who wait for it go on.
func (t *Ticket) End() {
	t.l.tickets.Remove(t.id)
	t.mu.Lock()
	over := t.over
	t.mu.Unlock()
	if !over {
		t.end()
	}
}

// end lets the core go.
func (t *Ticket) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		close(t.ended)
	}
	t.cancel()
}
