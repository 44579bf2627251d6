package tiered

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
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The wait for another machine's build, which may hang while its lease is renewed. Ranks of one
// job die when one of them waits for ten minutes.
const (
	unknownWait = time.Minute // where it is not known what the build costs
	longestWait = 2 * time.Minute

	// While it waits, it looks whether the entry is there, at times that grow from firstLook, or a quarter of
	// what the build costs, to longestLook. A crowd that looks sooner keeps those from being answered
	// in time who come last.
	shortestLook = 50 * time.Millisecond
	firstLook    = 250 * time.Millisecond
	longestLook  = time.Second
	busyLook     = 10 * time.Second // where the store asks to be called less often
	leaseEvery   = 4                // looks for one at the lease: most leases end with an entry

	// A store that is busy has not said that anybody builds. Each wait for one that was in vain
	// is followed by half as long a one, so that all cost a machine ten seconds.
	busyWait    = 5 * time.Second
	leastBusily = 100 * time.Millisecond
)

// hold is a lease that is held. It outlives the build lock until what was built is uploaded: who
// gets it then finds the entry.
type hold struct {
	release  func()
	unlocked bool          // it ends when the uploads before are done
	uploads  int           // far stores whose uploads are not done
	ending   chan struct{} // closed when it has ended; nil: it has not begun to
}

// Lock takes the build lock of k among all that share the near store, and then its lease from the
// first far store that has leases and answers; see [store.Locker]. It may return without a lease:
// where none can be had, and where the entry came while it waited, which Get finds. That wait
// ends after twice what the build costs (see store.WithCost; a minute where that is not known)
// and at the latest after two minutes, some of them sooner than others: it may be shorter than
// wait, by a fifth.
func (s *Store) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	end := time.Now().Add(wait)
	unlockNear, noLock := s.Near.Lock(ctx, k, wait)
	switch {
	case errors.Is(noLock, store.ErrLocked), ctx.Err() != nil && noLock != nil:
		return nil, noLock
	case noLock != nil: // the lease may be had all the same
		unlockNear = func() {}
	}
	if want := store.Wanted(ctx, k); !want.IsZero() {
		ctx = s.knowing(ctx, want)
	}
	h, err := s.lease(ctx, k, end)
	if err == nil && h == nil {
		err = noLock
	}
	if err != nil {
		unlockNear()
		return nil, err
	}
	return sync.OnceFunc(func() {
		s.unlockLease(k, h)
		unlockNear()
	}), nil
}

// lease takes the lease of k, waiting for it until end. Nil: build without, or find what is there.
func (s *Store) lease(ctx context.Context, k key.Key, end time.Time) (*hold, error) {
	if h := s.retake(ctx, k); h != nil {
		return h, nil
	}
	if want := store.Wanted(ctx, k); !want.IsZero() && time.Until(end) > 0 && s.isNear(ctx, want) {
		return nil, nil // by who had the build lock meanwhile
	}
	for _, t := range s.present() {
		if t.Locker == nil || !s.leases(t) {
			continue
		}
		h, err := s.leaseFrom(ctx, t, k, end)
		if !errors.Is(err, errNone) {
			return h, err
		}
	}
	return nil, nil
}

// errNone says that a store has no lease to give.
var errNone = errors.New("no lease is to be had")

// leases reports whether leases are taken from a far store: a lease promises that what is built
// will be there.
func (s *Store) leases(t *tier) bool {
	return s.base.Err() == nil && !s.o.ReadOnly && !t.ReadOnly && t.reads.closed() && t.writes.closed()
}

// leaseFrom takes the lease of k from one store; nil without an error: the entry is there.
func (s *Store) leaseFrom(ctx context.Context, t *tier, k key.Key, end time.Time) (*hold, error) {
	release, err := s.tryLease(ctx, t, k)
	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrBusy) { // of which all who called cannot build
		if time.Until(end) <= 0 {
			return nil, fmt.Errorf("%w: %w", store.ErrLocked, err)
		}
		s.count(stats.LeasesWaited)
		release, err = s.awaitLease(ctx, t, k, end, errors.Is(err, store.ErrLocked))
		s.absent.clear() // also where the lease is of another key, as internal/engine has for who gave up
	}
	switch {
	case errors.Is(err, store.ErrLocked):
		s.count(stats.LeasesGivenUp)
		s.o.Log.Warn("gave up waiting for another machine", "remote", t.Name, "key", k.Short())
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, errNone
	case release == nil:
		return nil, nil
	}
	s.count(stats.LeasesWon)
	// What was not there a moment ago may have been stored by whoever had the lease.
	for _, t := range s.present() {
		s.absent.forget(question{tier: t.index, sum: k.Sum})
	}
	h := &hold{release: release}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[k] = h
	return h, nil
}

// tryLease takes the lease of k if it is free. An error other than store.ErrLocked: the store has
// none to give.
func (s *Store) tryLease(ctx context.Context, t *tier, k key.Key) (func(), error) {
	limit := t.limit(ctx)
	try := func(ctx context.Context) (func(), error) {
		release, err := call(s, ctx, within(limit), func(ctx context.Context) (func(), error) {
			return t.Locker.Lock(ctx, k, 0)
		}, func(release func()) { release() })
		s.settle(ctx, t, &t.leases, err, limit)
		return release, err
	}
	if t.reads.closed() {
		switch t.leases.ask() {
		case closed:
			return try(ctx)
		case probe:
			go func() { // nobody waits for that
				if release, err := try(s.base); err == nil {
					release()
				}
			}()
		}
	}
	s.count(stats.RemoteSkipped)
	return nil, errBroken
}

// awaitLease waits until the lease is free, or the entry there: then there is neither a lease nor
// an error. builds says that somebody has the lease, and so builds.
func (s *Store) awaitLease(ctx context.Context, t *tier, k key.Key, end time.Time, builds bool) (func(), error) {
	end = giveUp(time.Now(), end, store.Cost(ctx))
	patience, busy := time.Duration(t.patience.Load()), !builds
	patient := time.Now().Add(jitter(cmp.Or(patience, busyWait)))
	if builds {
		defer t.awaited()()
	}
	want, look := store.Wanted(ctx, k), firstLook
	if cost := store.Cost(ctx); cost > 0 {
		look = min(look, max(cost/4, shortestLook))
	}
	for n := 1; ; n++ {
		left := time.Until(end)
		if !builds {
			left = min(left, time.Until(patient))
		}
		switch {
		case left <= 0 && !builds:
			t.patience.Store(int64(max(cmp.Or(patience, busyWait)/2, leastBusily)))
			return nil, errNone // to wait any longer may cost more than to build
		case left <= 0:
			return nil, store.ErrLocked
		}
		if err := flight.Sleep(ctx, min(jitter(look), left)); err != nil {
			return nil, err
		}
		if !want.IsZero() {
			came, err := s.arrives(ctx, want)
			if came {
				t.patience.Store(int64(min(2*cmp.Or(patience, busyWait), busyWait)))
				return nil, nil
			}
			busy = busy || errors.Is(err, store.ErrBusy)
		}
		if !t.reads.closed() {
			return nil, errNone // it does not answer any more
		}
		if n%leaseEvery == 0 || want.IsZero() {
			release, err := s.tryLease(ctx, t, k)
			switch {
			case errors.Is(err, store.ErrLocked):
				if !builds {
					builds = true
					defer t.awaited()()
				}
			case errors.Is(err, store.ErrBusy):
				busy = true
			case errors.Is(err, errLate) && t.reads.closed() && t.leases.closed(): // once is no proof
			default:
				return release, err
			}
		}
		if busy {
			look = min(2*look, busyLook)
		} else {
			look = min(look*5/4, longestLook)
		}
	}
}

// isNear reports whether the entry is near: built on this machine, which may be uploading it, or
// found for another request.
func (s *Store) isNear(ctx context.Context, k key.Key) bool {
	if len(s.present()) == 0 {
		return false
	}
	if s.comes(k) != nil {
		return true
	}
	_, err := s.Near.GetFirst(ctx, k, new(store.Buffer))
	return err == nil
}

// giveUp returns when a wait ends that begins now and lasts until end at most. Those who wait for
// one that hangs do not give up, and build, all at once.
func giveUp(now, end time.Time, cost time.Duration) time.Time {
	bound := unknownWait
	if cost > 0 {
		bound = min(2*cost, longestWait)
	}
	bound = min(bound, longestWait*4/5, end.Sub(now)*4/5)
	return now.Add(bound + rand.N(bound/4+1))
}

// arrives reports whether a far store has the entry that another machine built. Get will find it.
// Else the error is that of the stores, by errors.Is.
func (s *Store) arrives(ctx context.Context, k key.Key) (bool, error) {
	var trouble error
	for _, t := range s.present() {
		e, err := s.fetchFrom(ctx, t, k)
		if err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		s.backfill(t, e)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.arrived[k] = e
		s.countAhead()
		return true, nil
	}
	return false, trouble
}

// takeArrived returns what came while one waited for a lease; nil: nothing.
func (s *Store) takeArrived(k key.Key) *store.Entry {
	if s.ahead.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.arrived[k]
	delete(s.arrived, k)
	s.countAhead()
	return e
}

func (s *Store) holdsLease(k key.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds[k] != nil
}

// retake takes a lease again that is held still, because uploads are not done.
func (s *Store) retake(ctx context.Context, k key.Key) *hold {
	s.mu.Lock()
	h := s.holds[k]
	if h == nil || h.ending == nil {
		if h != nil {
			h.unlocked = false
		}
		s.mu.Unlock()
		return h
	}
	s.mu.Unlock()
	late := time.NewTimer(defaultTimeout)
	defer late.Stop()
	select { // else it would be in our own way
	case <-h.ending:
	case <-ctx.Done():
	case <-late.C:
	}
	return nil
}

// unlockLease ends a lease, if there is one, when all that was put so far is uploaded.
func (s *Store) unlockLease(k key.Key, h *hold) {
	s.takeArrived(k)
	if h == nil {
		return
	}
	s.mu.Lock()
	h.unlocked = true
	h.uploads += len(s.tiers)
	s.mu.Unlock()
	for _, t := range s.tiers {
		if !t.uploads.add(&task{do: func() { s.uploaded(k, h) }}) {
			go s.uploaded(k, h) // the store is closed
		}
	}
}

// uploaded says that one far store has what was put before a lease was unlocked.
func (s *Store) uploaded(k key.Key, h *hold) {
	s.mu.Lock()
	if h.uploads--; h.uploads > 0 || !h.unlocked || h.ending != nil {
		s.mu.Unlock()
		return
	}
	h.ending = make(chan struct{})
	s.mu.Unlock()
	_ = flight.Guard(func() error {
		h.release()
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[k] == h { // else the lease was taken again while its end was under way
		delete(s.holds, k)
	}
	close(h.ending)
}

// dropLeases ends what leases there are: nothing more is uploaded. It waits for no answer.
func (s *Store) dropLeases() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, h := range s.holds {
		if h.ending == nil {
			h.ending = make(chan struct{})
			close(h.ending)
			delete(s.holds, k)
			go func() { _ = flight.Guard(func() error { h.release(); return nil }) }()
		}
	}
}
