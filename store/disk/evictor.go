package disk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/stats"
)

// evictor is the background run that counts what is there and frees down to
// two thirds of the limit. There is one at a time among all processes.
type evictor struct {
	ctx    context.Context // of a run
	cancel context.CancelFunc
	count  context.Context // of its count, which ends before
	hurry  context.CancelFunc

	others atomic.Int64 // bytes of entries of other versions that the last run saw

	mu      sync.Mutex
	running bool
	stopped bool
	rest    time.Time // no run before, since the last one was futile
	done    sync.WaitGroup
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
		futile := s.evictRun()
		now := time.Now()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running = false
		if futile {
			e.rest = now.Add(max(futilePause, futileFactor*now.Sub(start)))
		}
	})
}

// evictRun is one run. futile says that the next one should not come at once.
func (s *Store) evictRun() (futile bool) {
	ctx := s.evict.ctx
	r, err := s.acquire(false)
	if err != nil {
		return true
	}
	defer r.release()
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		return true
	}
	unlock, err := m.locks.Lock(ctx, evictorByte, 0)
	switch {
	case err == nil:
		defer unlock()
	case errors.Is(err, lock.ErrBusy):
		return false // another process does it
	case !errors.Is(err, lock.ErrUnsupported):
		return true
	}
	c, err := s.census(s.evict.count, r, m, s.o.Policy)
	if err != nil {
		s.o.Trace.Warn("evictor", "reason", err)
		return true
	}
	s.evict.others.Store(c.others)
	total, free := s.toFree(m, &c)
	freed := s.free(ctx, r, m, &c, free)
	if free > 0 {
		s.o.Trace.Debug("evicted", "before", total, "after", total-freed, "limit", s.o.MaxSize)
	}
	return !c.corrected || free > 0 && total-freed > s.o.MaxSize
}

// toFree returns how many bytes are there, and how many of them have to go:
// down to two thirds of the limit. Of a count that came to no end, the account
// knows the total; then what was seen gives its share, so that not all of it
// goes in the place of older entries that were not seen.
func (s *Store) toFree(m *meta, c *census) (total, free int64) {
	limit := s.o.MaxSize
	total = c.total.bytes
	if c.partial {
		if bytes, _, counted, err := m.total(); err == nil && counted {
			total = max(total, bytes)
		}
	}
	if limit <= 0 || total <= limit {
		return total, 0
	}
	free = total - limit/3*2
	if c.partial {
		share := float64(c.total.bytes) / float64(total)
		free = max(int64(float64(free)*share), total-limit)
	}
	return total, free
}

// free evicts until so many bytes are freed. What was used or changed since
// the census stays, and so does what somebody writes beside.
func (s *Store) free(ctx context.Context, r *root, m *meta, c *census, bytes int64) (freed int64) {
	if bytes <= 0 {
		return 0
	}
	for _, v := range c.inOrder(s.o.Policy, s.o.Now()) {
		if freed >= bytes || ctx.Err() != nil {
			break
		}
		if s.evictOne(ctx, r, m, v) {
			freed += v.size
		}
	}
	return freed
}

// evictOne removes an entry.
func (s *Store) evictOne(ctx context.Context, r *root, m *meta, v victim) bool {
	u, gone := s.removeVictim(ctx, r, m, v, false)
	if gone && v.entry {
		s.count(stats.DiskEvictions, 1)
		s.count(stats.DiskBytesEvicted, u.bytes)
	}
	return gone
}
