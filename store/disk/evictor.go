package disk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
)

// evictor is the background run that counts what was not counted for long, and
// frees down to two thirds of the limit. One at a time among all processes walks the
// root; what it leaves in the order any number of them frees, see order.go.
type evictor struct {
	ctx    context.Context // of a run
	cancel context.CancelFunc
	count  context.Context // of its count, which ends before
	hurry  context.CancelFunc

	full   atomic.Int64 // until when, in nanoseconds since 1970, there is no room
	others atomic.Int64 // bytes of entries of other versions that the last run saw

	mu      sync.Mutex
	running bool
	stopped bool
	rest    time.Time     // no run before, since the last one was futile
	busy    time.Duration // the pause after it was last found that another process evicts
	done    sync.WaitGroup
	books   *books // of the one run at a time: 16 KiB that are not garbage after each
}

// A store whose entries cannot be evicted, since they are in use, or whose
// account cannot be read, is not walked at every put: a futile run is followed
// by a pause, the longer the more it cost.
const (
	futilePause  = time.Second
	futileFactor = 20
)

func (e *evictor) init() {
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.count, e.hurry = context.WithCancel(e.ctx)
}

// stop ends the evictor, waiting at most wait, and a little for a disk that
// hangs.
func (e *evictor) stop(wait time.Duration) {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		e.done.Wait()
		close(ended)
	}()
	for _, end := range []func(){e.hurry, e.cancel, func() {}} {
		select {
		case <-ended:
			return
		case <-time.After(wait / 2):
			end()
		}
	}
}

// A process that found that another one evicts does not ask again for a while,
// the longer the more often it found that: a crowd that asks at every put takes
// more time than the one that evicts.
const (
	busyPause     = 5 * time.Millisecond
	busyPauseMost = 80 * time.Millisecond
)

// wakeEvictor starts a run, unless one is under way. It does not wait.
func (s *Store) wakeEvictor() {
	e := &s.evict
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running || e.stopped || time.Now().Before(e.rest) {
		return
	}
	e.running = true
	e.done.Go(func() {
		start := time.Now()
		futile, busy := s.evictRun()
		now := time.Now()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running = false
		e.full.Store(0)
		if !busy {
			e.busy = 0
		}
		switch {
		case futile:
			e.rest = now.Add(max(futilePause, futileFactor*now.Sub(start)))
		case busy:
			e.busy = min(max(2*e.busy, busyPause), busyPauseMost)
			e.rest = now.Add(e.busy)
		}
	})
}

// evictRun is one run. futile says that the next one should not come at once,
// busy that another process walks the root.
func (s *Store) evictRun() (futile, busy bool) {
	ctx := s.evict.ctx
	r, err := s.acquire(false)
	if err != nil {
		return true, false
	}
	defer r.release()
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		return true, false
	}
	t, err := m.total()
	limited := s.o.MaxSize > 0
	if err == nil && t.known && !stale(t.counted, s.nowNanos()/1e9) && !(limited && t.bytes > s.highWater(t.entries)) {
		return false, false // others were here
	}
	if s.evict.books == nil {
		s.evict.books = new(books)
	}
	b := s.evict.books
	b.open(s, m)
	h := &shrink{
		s: s, r: r, b: b, ctx: ctx, count: s.evict.count,
		above: s.highWater(b.l.total().entries), down: s.o.MaxSize / 3 * 2,
		stale: func(v *slot) bool { return !v.known() || stale(v.counted, s.nowNanos()/1e9) },
	}
	if limited && h.total() > h.above && h.shrinkInOrder() {
		return false, false
	}
	unlock, err := m.locks.Lock(ctx, evictorByte, 0)
	switch {
	case err == nil:
		defer unlock()
	case errors.Is(err, lock.ErrBusy):
		return false, true
	case !errors.Is(err, lock.ErrUnsupported):
		return true, false
	}
	b.read()
	if limited {
		h.rest = s.newCensus(false, s.o.Now())
		h.rest.most = min(h.rest.most, maxOrder)
	}
	before := h.total()
	left, err := h.run(r.dir)
	if err != nil {
		s.o.Trace.Warn("evictor", "reason", err)
		return true, false
	}
	if h.freeing && h.rest != nil && !h.partial && h.b.unreadable == nil {
		h.writeOrder()
	}
	if h.freeing {
		s.o.Trace.Debug("evicted", "before", before, "after", left, "limit", s.o.MaxSize)
	}
	if !h.partial {
		s.evict.others.Store(h.others)
	}
	futile = h.b.unreadable != nil || s.o.MaxSize > 0 && left > s.o.MaxSize && h.freed == 0 || !h.partial && !h.b.l.total().known
	return futile, false
}
