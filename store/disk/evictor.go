package disk

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/stats"
)

// evictor is the background run that counts what is there and frees down to
// two thirds of the limit. There is one at a time among all processes.
type evictor struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	running bool
	stopped bool
	futile  time.Time // when a run last failed to get below the limit
	done    sync.WaitGroup
}

// futilePause keeps a store whose entries cannot be evicted, since they are in
// use or of another version, from being walked at every put.
const futilePause = time.Second

func (e *evictor) init() { e.ctx, e.cancel = context.WithCancel(context.Background()) }

// stop ends the evictor, waiting at most wait.
func (e *evictor) stop(wait time.Duration) {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		e.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-time.After(wait):
	}
	e.cancel() // it ends at the next entry, unless the disk hangs
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
}

// wakeEvictor starts a run, unless one is under way. It does not wait.
func (s *Store) wakeEvictor() {
	e := &s.evict
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running || e.stopped || time.Since(e.futile) < futilePause {
		return
	}
	e.running = true
	e.done.Go(func() {
		futile := s.evictRun(e.ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running = false
		if futile {
			e.futile = time.Now()
		}
	})
}

// evictRun is one run. futile says that the next one should not come at once.
func (s *Store) evictRun(ctx context.Context) (futile bool) {
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
	case !errors.Is(err, lock.ErrUnsupported):
		return false // another process does it
	}
	c, err := s.census(ctx, r, m, s.o.Policy)
	if err != nil {
		s.o.Trace.Warn("evictor", "reason", err)
		return true
	}
	if s.o.MaxSize <= 0 || c.total.bytes <= s.o.MaxSize {
		return false
	}
	left := c.total.bytes
	for _, v := range c.inOrder(s.o.Policy, s.o.Now()) {
		if left <= s.o.MaxSize/3*2 || ctx.Err() != nil {
			break
		}
		if s.evictOne(ctx, r, m, v) {
			left -= v.size
		}
	}
	s.o.Trace.Debug("evicted", "before", c.total.bytes, "after", left, "limit", s.o.MaxSize)
	return left > s.o.MaxSize
}

// evictOne removes an entry, unless it was used or changed since the census,
// or somebody writes beside it.
func (s *Store) evictOne(ctx context.Context, r *root, m *meta, v victim) bool {
	size, ok := s.removeVictim(ctx, r, m, v, false)
	if ok && v.entry {
		s.count(stats.DiskEvictions, 1)
		s.count(stats.DiskBytesEvicted, size)
	}
	return ok
}
