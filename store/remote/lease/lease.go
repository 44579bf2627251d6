// Package lease makes machines that share a remote wait for one build: a [store.Locker] over the
// leases of an engine. A lease ends by itself some time after its holder died, and is not renewed
// for ever for one that hangs. Whoever loses a lease builds all the same: that costs a second
// build, and nothing else.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// Options are the settings of a Locker. Only Name is required.
type Options struct {
	Name    func(key.Key) string // of the lease of a key: remote.Store has it
	TTL     time.Duration        // that a lease lasts which is not renewed; 0: 15 s
	Timeout time.Duration        // of a renewal, and of a release; 0: 500 ms
}

const (
	defaultTTL     = 15 * time.Second
	defaultTimeout = 500 * time.Millisecond

	atOnce = 16                     // renewals under way
	poll   = 500 * time.Millisecond // at most, between two looks at a lease that somebody has

	// A lease is renewed for twice as long as the build takes that it is for, and then left to
	// run out: its holder hangs.
	unknownBuild = time.Minute     // where that is not known, in all
	longestBuild = 2 * time.Minute // in all, whatever is known
)

// Locker takes leases. It is safe for concurrent use. Make it with [New].
type Locker struct {
	l remote.Leaser
	o Options

	mu       sync.Mutex
	held     map[*held]struct{}
	renewing bool          // by one goroutine, while any lease is held
	wake     chan struct{} // tells it that there is nothing to renew
	closed   bool
}

var _ store.Locker = (*Locker)(nil)

// held is a lease that is held.
type held struct {
	until time.Time // it is not renewed any more

	turn  chan struct{} // holds one while a call of the lease is under way: it is used by one goroutine at a time
	lease remote.Lease
	over  bool
}

// New returns a Locker. It makes no call.
func New(l remote.Leaser, o Options) *Locker {
	o.TTL, o.Timeout = cmp.Or(o.TTL, defaultTTL), cmp.Or(o.Timeout, defaultTimeout)
	return &Locker{l: l, o: o, held: make(map[*held]struct{}), wake: make(chan struct{}, 1)}
}

// errClosed is why there are no leases after Close.
var errClosed = errors.New("closed")

// Lock takes the lease of k; see [store.Locker]. It lasts until unlock, which calls the engine and
// takes no longer than Timeout, or until it was not renewed; see [store.WithCost] for how long it is.
func (l *Locker) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	end := time.Now().Add(wait)
	for {
		h, err := l.acquire(ctx, k)
		if err == nil {
			return sync.OnceFunc(func() { l.release(h) }), nil
		}
		if !errors.Is(err, remote.ErrHeld) {
			return nil, fmt.Errorf("lease %s: %w", k.Short(), err)
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, fmt.Errorf("lease %s: %w", k.Short(), store.ErrLocked)
		}
		if err := flight.Sleep(ctx, min(left, poll/2+rand.N(poll/2+1))); err != nil {
			return nil, err
		}
	}
}

// acquire takes a lease and has it renewed.
func (l *Locker) acquire(ctx context.Context, k key.Key) (*held, error) {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	lease, err := l.l.Acquire(ctx, l.o.Name(k), l.o.TTL)
	if err != nil {
		return nil, err
	}
	h := &held{until: time.Now().Add(renewFor(store.Cost(ctx))), lease: lease, turn: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		go h.end(l.o.Timeout)
		return nil, errClosed
	}
	l.held[h] = struct{}{}
	if !l.renewing {
		l.renewing = true
		go l.renew()
	}
	return h, nil
}

// renewFor returns for how long a lease is renewed.
func renewFor(cost time.Duration) time.Duration {
	if cost <= 0 {
		return unknownBuild
	}
	return min(2*cost, longestBuild)
}

// renew renews what is held, every third of its time, while anything is.
func (l *Locker) renew() {
	tick := time.NewTicker(l.o.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.wake:
		}
		all := l.toRenew()
		if all == nil {
			return
		}
		var done sync.WaitGroup // one that hangs is not to lose the others
		several := make(chan struct{}, atOnce)
		for _, h := range all {
			several <- struct{}{}
			done.Go(func() {
				defer func() { <-several }()
				if !h.renew(l.o.TTL, l.o.Timeout) {
					l.forget(h)
				}
			})
		}
		done.Wait()
	}
}

// toRenew returns the leases that are renewed; nil: none, and the caller, who does that, ends.
func (l *Locker) toRenew() []*held {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	all := make([]*held, 0, len(l.held))
	for h := range l.held {
		if now.After(h.until) {
			delete(l.held, h) // it runs out
			continue
		}
		all = append(all, h)
	}
	if len(l.held) == 0 {
		l.renewing = false
		return nil
	}
	return all
}

// forget ends the renewals of a lease.
func (l *Locker) forget(h *held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, h)
	if len(l.held) == 0 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *Locker) release(h *held) {
	h.end(l.o.Timeout)
	l.forget(h) // then, as Close waits for the end of what is held
}

// renew reports whether the lease is held still, as far as is known.
func (h *held) renew(ttl, timeout time.Duration) bool {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if h.over {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return !errors.Is(h.lease.Renew(ctx, ttl), remote.ErrLost)
}

// end releases the lease, once. If that fails it runs out.
func (h *held) end(timeout time.Duration) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if h.over {
		return
	}
	h.over = true
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = h.lease.Release(ctx)
}

// Close releases all leases, at once, and takes no more. It takes no longer than a renewal and a
// release do. What is unlocked later is released already.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.closed = true
	var all sync.WaitGroup
	for h := range l.held {
		all.Go(func() { h.end(l.o.Timeout) })
	}
	clear(l.held)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	all.Wait()
	return nil
}
