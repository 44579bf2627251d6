package layer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// Ticket is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	l       *Layer
	pool    *pool
	request kernstash.Request
	begun   time.Time
	core    *guest.Rendezvous[step, *store.Artifact] // what is built is answered; nil: restored, or nothing to store

	mu      sync.Mutex
	found   *kernstash.Found // served without asking the core
	refused bool             // that was refused; the core is not told yet
}

// ask has the core make the program.
func (t *Ticket) ask() {
	t.core.Ask(func(ctx context.Context) error {
		ctx = guest.With(ctx, t)
		p, err := guest.Program(ctx, t.pool.core, t.request, t.core)
		if err != nil {
			return err
		}
		if !t.core.Stepped() {
			err = t.share(ctx, p)
		}
		p.Release()
		return err
	})
}

// share has a program restored that was just now made for another ticket.
func (t *Ticket) share(ctx context.Context, p *kernstash.Program[*native, struct{}]) error {
	n, err := p.Native(0)
	if err != nil {
		return err
	}
	if n.Artifact == nil {
		return fmt.Errorf("%w: another thread built it for itself", kernstash.ErrNotCacheable)
	}
	if err := t.restore(ctx, n.Artifact); err != nil {
		return err
	}
	t.l.door.Shared(n.Job, n.Artifact)
	return nil
}

// restore has the interposer restore an artifact, unless it has refused it just now.
func (t *Ticket) restore(ctx context.Context, a *store.Artifact) error {
	t.mu.Lock()
	refused := t.refused
	t.refused = false
	t.mu.Unlock()
	if refused {
		return errRefused
	}
	_, err := t.core.Step(ctx, step{artifact: a})
	return err
}

// build has the interposer build.
func (t *Ticket) build(ctx context.Context, job kernstash.Job) (*store.Artifact, error) {
	return t.core.Step(ctx, step{wanted: !job.Key.IsZero() && t.l.door.Cache.Writes()})
}

// Wait waits for d at most, and returns what there is to say; ok is false where there is
// nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	if t.hasFound() {
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, true
	}
	switch s, said := t.core.Wait(d); said {
	case guest.Wanted:
		return s.reply(), true
	case guest.Through:
		return Reply{Action: front.Pass, Reason: t.l.door.PassFailed(t.core.Err())}, true
	case guest.Late:
		return t.l.pass(reason.PassedBusy, "waited too long"), true
	case guest.Over:
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, true
	default:
		return Reply{}, false
	}
}

func (t *Ticket) hasFound() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found != nil
}

// Next takes how it ended, and says what follows: Build for what the driver refused,
// else Done. Where ok is false, Wait tells. After End nothing is taken.
func (t *Ticket) Next(o *Outcome) (Reply, bool) {
	t.mu.Lock()
	found := t.found
	t.found, t.refused = nil, found != nil && o.Result == front.Refused
	t.mu.Unlock()
	if found != nil {
		return t.nextFound(found, o)
	}
	s, ok := t.core.Current()
	if !ok {
		t.End()
		return Reply{Action: front.Pass, Reason: errRequest.Error()}, true
	}
	built, err := s.result(o)
	again := errors.Is(err, errRefused)
	heard := t.core.Answer(built, err, !again)
	switch {
	case again:
		return t.Wait(atOnce)
	case heard && o.Result == front.Built:
		t.core.Linger(o.Took)
	}
	return Reply{Action: front.Done}, true
}

// nextFound is next for what was served without asking the core.
func (t *Ticket) nextFound(found *kernstash.Found, o *Outcome) (Reply, bool) {
	switch o.Result {
	case front.Refused:
		t.ask() // which finds it again, is told, and removes it
		return t.Wait(atOnce)
	case front.Restored:
		t.pool.core.Restored(*found, time.Since(t.begun))
	default:
		t.l.door.GivenUp()
	}
	t.core.End()
	return Reply{Action: front.Done}, true
}

// End ends the ticket. Where the last Next did not come before, nothing is known of the
// build, and those who wait for it go on.
func (t *Ticket) End() {
	t.mu.Lock()
	t.found = nil
	t.mu.Unlock()
	t.core.End()
}
