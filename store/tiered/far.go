package tiered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// What a call ends with that a far store did not answer.
var (
	errLate   = errors.New("it did not answer in time")
	errBroken = errors.New("it is not called for a while, having failed")
	errWrong  = errors.New("it answered with another entry")
)

// call calls a far store, which has as long to answer as a bound says. A store that does not heed its context
// delays nobody: what it returns later is late's, which may be nil.
func call[T any](s *Store, ctx context.Context, b bound, f func(context.Context) (T, error), late func(T)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.base, func() { cancel(nil) })
	moves := newFlow(b, cancel)
	ctx = store.WithFlow(timed{ctx, moves.begin.Add(b.limit)}, moves)
	answers := make(chan answer)
	go func() {
		defer cancel(nil)
		defer moves.timer.Stop()
		defer stop()
		var a answer
		a.err = flight.Guard(func() (err error) {
			a.v, err = f(ctx)
			return err
		})
		select {
		case answers <- a:
		case <-ctx.Done():
			select {
			case answers <- a: // it is waited for still
			default:
				if a.err == nil && late != nil {
					late(a.v)
				}
			}
		}
	}()
	var none T
	select {
	case a := <-answers:
		if why := context.Cause(ctx); a.err != nil && (errors.Is(why, errLate) || errors.Is(why, store.ErrSlow)) {
			a.err = fmt.Errorf("%w: %w", why, a.err)
		}
		return a.v, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// limit returns how long a call may take that somebody waits for: less than half of what it may
// save, where that is known.
func (t *tier) limit(ctx context.Context) time.Duration {
	if cost := store.Cost(ctx); cost > 0 {
		return min(t.Timeout, cost/2)
	}
	return t.Timeout
}

// settle notes what a call with a limit came to, for a breaker of t and in the counts, and reports
// whether the store failed: one whose caller gave up before that limit did not.
func (s *Store) settle(ctx context.Context, t *tier, b *breaker, err error, limit time.Duration) (failed bool) {
	var opened bool
	switch {
	case answered(err):
		if b.worked() {
			s.o.Log.Info("the remote answers again", "remote", t.Name)
		}
		return false
	case s.base.Err() != nil || ctx.Err() != nil:
		b.unprobed()
		return false
	case errors.Is(err, store.ErrBusy): // it works, and a pause of all calls is more than it asks for
		s.count(stats.RemoteErrors)
		b.unprobed()
	case errors.Is(err, store.ErrSlow): // it works, and a small object comes
		s.count(stats.RemoteTimeouts)
		b.worked()
	case errors.Is(err, errLate) || errors.Is(err, context.DeadlineExceeded):
		s.count(stats.RemoteTimeouts)
		most := t.Timeout
		if t.builds.Load() > 0 {
			most *= 2
		}
		opened = b.late(limit, most)
		if b == &t.leases { // somebody waited for it, as for a read
			opened = t.reads.late(limit, most) || opened
		}
	default:
		s.count(stats.RemoteErrors)
		opened = b.failed()
	}
	if opened {
		s.count(stats.RemoteBreaks)
		s.o.Log.Warn("the remote is given up for a while", "remote", t.Name, "error", err.Error())
	}
	return true
}

// answered reports whether a far store did what it should, be that to say no.
func answered(err error) bool {
	if miss, ok := errors.AsType[*store.MissError](err); ok {
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errLate), errors.Is(err, store.ErrSlow):
			return false
		}
		switch miss.Reason {
		case reason.MissRemote, reason.MissUnreadable, reason.MissTierOff:
			return false
		}
		return true
	}
	return err == nil || errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrStays) || errors.Is(err, store.ErrInvalid)
}

// fetch is the search for an entry in the far stores, which all who want it at once share. The
// rest is set before done is closed.
type fetch struct {
	done  chan struct{}
	entry *store.Entry  // is not changed; nil: none has it
	why   reason.Reason // worth telling; 0: it is not there
	cause error
}

// getFar asks the far stores for an entry that the near one has not, for the reason near.
func (s *Store) getFar(ctx context.Context, k key.Key, near error) (*store.Entry, error) {
	if why, worth := s.worthAsking(k); !worth {
		s.count(stats.RemoteMisses)
		return nil, missed(near, why, errBroken)
	}
	f, mine := s.fetches.Begin(k, &fetch{done: make(chan struct{})})
	if mine {
		go s.search(context.WithoutCancel(ctx), k, f)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, &store.MissError{Reason: reason.MissRemote, Cause: context.Cause(ctx)}
	}
	if f.entry != nil {
		return own(f.entry), nil
	}
	s.count(stats.RemoteMisses)
	return nil, missed(near, f.why, f.cause)
}

// worthAsking reports whether there is a far store to ask, or one to probe. Else why says what is
// worth telling of that.
func (s *Store) worthAsking(k key.Key) (why reason.Reason, worth bool) {
	if s.base.Err() != nil {
		return 0, false
	}
	skipped := int64(0)
	for _, t := range s.present() {
		if s.absent.has(question{tier: t.index, sum: k.Sum}) {
			continue
		}
		if !t.reads.quiet() && !s.slow.has(question{tier: t.index, sum: k.Sum}) {
			return 0, true
		}
		skipped++
	}
	if skipped > 0 {
		s.o.Recorder.Add(stats.RemoteSkipped, skipped)
		return reason.MissRemote, false
	}
	return 0, false
}

// knowing returns a context that says what the build of k costs, as far as the near store can tell: by the same build for
// another device, such as the driver before this one. It is called on the way to a remote, not to what is on this machine.
func (s *Store) knowing(ctx context.Context, k key.Key) context.Context {
	if store.Cost(ctx) > 0 || !slices.ContainsFunc(s.present(), func(t *tier) bool { return !t.NoBackfill && t.reads.closed() }) {
		return ctx
	}
	if cost := s.Near.CostNear(ctx, k); cost > 0 {
		return store.WithCost(ctx, cost)
	}
	return ctx
}

// search asks one far store after the other.
func (s *Store) search(ctx context.Context, k key.Key, f *fetch) {
	defer close(f.done)
	defer s.fetches.End(k)
	ctx = s.knowing(ctx, k)
	for _, t := range s.present() {
		if s.absent.has(question{tier: t.index, sum: k.Sum}) {
			continue
		}
		e, err := s.fetchFrom(ctx, t, k)
		if err == nil {
			s.backfill(t, e)
			f.entry = e
			return
		}
		if miss, ok := errors.AsType[*store.MissError](err); !ok {
			f.tell(reason.MissRemote, err)
		} else if miss.Reason != reason.MissAbsent {
			f.tell(miss.Reason, err)
		}
	}
}

// tell notes why there is no entry: what is wrong with one says more than that a store is down.
func (f *fetch) tell(why reason.Reason, err error) {
	if f.why == 0 || f.why == reason.MissRemote {
		f.why, f.cause = why, err
	}
}

// fetchFrom asks one far store. Whether it works again is found out in the background: nobody
// waits for that.
func (s *Store) fetchFrom(ctx context.Context, t *tier, k key.Key) (*store.Entry, error) {
	if s.slow.has(question{tier: t.index, sum: k.Sum}) {
		s.count(stats.RemoteSkipped)
		return nil, store.ErrSlow
	}
	switch t.reads.ask() {
	case closed:
		return s.ask(ctx, t, k)
	case probe:
		go func() {
			if e, err := s.ask(context.Background(), t, k); err == nil {
				s.backfill(t, e)
			}
		}()
	}
	s.count(stats.RemoteSkipped)
	return nil, errBroken
}

// ask asks one far store, and counts what it says.
func (s *Store) ask(ctx context.Context, t *tier, k key.Key) (*store.Entry, error) {
	b, begin := t.bound(ctx), time.Now()
	e, err := call(s, ctx, b, func(ctx context.Context) (*store.Entry, error) {
		e, err := t.fetch(ctx, k)
		if err == nil && (e == nil || e.Key != k || e.Artifact == nil || len(e.Artifact.Binaries) == 0) {
			err = errWrong
		}
		return e, err
	}, nil)
	s.settle(ctx, t, &t.reads, err, b.limit)
	if errors.Is(err, store.ErrSlow) {
		s.slow.add(question{tier: t.index, sum: k.Sum})
	}
	if err != nil {
		if miss, ok := errors.AsType[*store.MissError](err); ok && miss.Reason == reason.MissAbsent && answered(err) {
			s.absent.add(question{tier: t.index, sum: k.Sum})
		}
		if !answered(err) {
			err = &store.MissError{Reason: reason.MissRemote, Cause: err}
		}
		return nil, err
	}
	s.count(stats.RemoteHits)
	s.o.Recorder.Add(stats.RemoteSavedTime, int64(e.Artifact.Cost-time.Since(begin)))
	found := *e
	found.From = t.Name
	return &found, nil
}

// backfill has what a far store had kept near, and in the far stores before it that said they had
// none. The entry is not changed any more.
func (s *Store) backfill(from *tier, e *store.Entry) {
	if s.o.ReadOnly || from.NoBackfill || e.Recipe == nil {
		return
	}
	near := *e
	near.From = ""
	s.mu.Lock()
	s.coming[e.Key] = e
	s.countAhead()
	s.mu.Unlock()
	added := s.backfills.add(&task{key: e.Key, size: takes(e), do: func() {
		_, _ = s.Near.Put(s.base, &near) // which counts what comes of it
		s.hasCome(e.Key)
	}, drop: func() { s.hasCome(e.Key) }})
	if !added {
		s.hasCome(e.Key)
	}
	for _, t := range s.tiers[:from.index] {
		if t.takes(e.Artifact.Size()) && s.absent.has(question{tier: t.index, sum: e.Key.Sum}) {
			s.upload(t, &near)
		}
	}
}

// comes returns an entry that was found far, and is not near yet; nil: there is none.
func (s *Store) comes(k key.Key) *store.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.coming[k]
}

// hasCome says that an entry is near, or will not be.
func (s *Store) hasCome(k key.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.coming, k)
	s.countAhead()
}

// countAhead is called with s.mu held.
func (s *Store) countAhead() { s.ahead.Store(int64(len(s.arrived) + len(s.coming))) }
