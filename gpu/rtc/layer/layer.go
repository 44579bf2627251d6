package layer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/stats"
)

// Layer answers for one process. It is safe for concurrent use.
type Layer struct {
	cache   *kernstash.Cache
	log     *runlog.Log
	pools   pools
	tickets guest.Tickets[Ticket]
	keeper  *guest.Keeper
	asking  sync.WaitGroup // goroutines that ask the core
	pending atomic.Int64   // how many they are
}

// Options configure Open.
type Options struct {
	Cache kernstash.Options // Lenient is set
}

// Open opens the cache for the process. An error, which wraps guest.ErrOut, says why
// every program is the compiler's own affair.
func Open(o Options) (*Layer, error) {
	l := &Layer{log: runlog.FromEnvironment()}
	if err := l.open(o); err != nil {
		l.report(runlog.Event{Kind: runlog.Out, Reason: err.Error()}, "rtc")
		return nil, fmt.Errorf("open layer: %w", err)
	}
	l.keeper = guest.NewKeeper(func() {
		_ = l.guarded(func() error {
			l.cache.KeepStats()
			return nil
		})
	})
	return l, nil
}

func (l *Layer) open(o Options) (err error) {
	if err := guest.MayStay(); err != nil {
		return err
	}
	o.Cache.Lenient = true
	if l.cache, err = kernstash.Open(o.Cache); err != nil {
		return fmt.Errorf("%w: %w", guest.ErrOut, err)
	}
	if !l.cache.Reads() {
		return fmt.Errorf("%w: the cache is switched off, or has no directory", guest.ErrOut)
	}
	return nil
}

// Cache returns the cache, for its statistics.
func (l *Layer) Cache() *kernstash.Cache { return l.cache }

// Close ends the tickets that are open, and waits for what is to be stored and noted.
// Processes need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	for _, t := range l.tickets.All() {
		t.End()
	}
	l.asking.Wait()
	err := l.cache.Close()
	l.keeper.Wait()
	return err
}

// Settled says whether all that was compiled is stored by now. It does not wait.
func (l *Layer) Settled() bool { return l.pending.Load() == 0 && l.cache.Flush(0) }

// Begin begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass and Serve there is no ticket.
func (l *Layer) Begin(r *Request) (t *Ticket, reply Reply, ok bool) {
	err := l.guarded(func() error {
		t, reply, ok = l.begin(r)
		return nil
	})
	if err != nil {
		return nil, l.pass(stats.Panics, err.Error(), r.API.String()), true
	}
	return t, reply, ok
}

// atOnce is how long Begin waits itself: as long as it takes to find an artifact
// where nothing is in the way.
const atOnce = 5 * time.Millisecond

func (l *Layer) begin(r *Request) (*Ticket, Reply, bool) {
	begun := time.Now()
	p, err := l.pools.find(l, r)
	if err != nil {
		return nil, l.pass(stats.PassedOther, err.Error(), r.API.String()), true
	}
	request, err := p.Library.Core(r.Program)
	if err != nil {
		return nil, l.pass(stats.PassedOther, err.Error(), r.API.String()), true
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &Ticket{
		l: l, pool: p, request: request, begun: begun, cancel: cancel,
		steps: make(chan *step), through: make(chan struct{}), ended: make(chan struct{}),
	}
	t.ctx = context.WithValue(ctx, ticketKey{}, t)
	if found := p.core.Glance(ctx, request); len(found) == 1 {
		if o, err := p.Output(found[0].Artifact); err == nil {
			cancel()
			p.core.Restored(found[0], time.Since(begun))
			return nil, Reply{Action: Serve, Output: o}, true
		} // else the core finds that out, too
	}
	if !l.tickets.Add(t, &t.id) {
		cancel()
		return nil, l.pass(stats.PassedBusy, "too many programs at once", p.door()), true
	}
	t.ask()
	reply, ok := t.wait(atOnce)
	return t, reply, ok
}

// Ticket returns the open ticket of a number; nil: there is none.
func (l *Layer) Ticket(id uint64) *Ticket { return l.tickets.Find(id) }

// guarded makes an error of a panic in f.
func (l *Layer) guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
			l.cache.Warn("panic in the layer", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

var errPanic = errors.New("internal error")

// pass counts a request that is passed through.
func (l *Layer) pass(counter stats.Counter, reason, door string) Reply {
	l.cache.Count(counter, 1)
	l.report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: reason}, door)
	l.keeper.Poke()
	return Reply{Action: Pass, Reason: reason}
}

// failed is pass for what the core says.
func (l *Layer) failed(err error, door string) Reply {
	var diagnostic *kernstash.BuildError
	switch {
	case err == nil:
		return l.pass(stats.PassedOther, "nothing to do", door)
	case errors.Is(err, errPanic) || flight.IsPanic(err):
		return l.pass(stats.Panics, err.Error(), door)
	case errors.As(err, &diagnostic):
		// The application is to see the compiler's own failure.
		return l.pass(stats.PassedOther, "the compiler refused it a moment ago", door)
	}
	return l.pass(stats.PassedOther, err.Error(), door)
}

// Passed counts what an interposer passed through by itself, for a reason.
func (l *Layer) Passed(reason, door string) {
	_ = l.guarded(func() error {
		l.pass(stats.PassedOther, reason, door)
		return nil
	})
}
