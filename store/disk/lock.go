package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// maxBuildLocks bounds the build locks of one Store. The kernel keeps the locks
// of a file in a list, which every other lock of it is compared with: ten
// thousand make each take a millisecond, for all processes.
const maxBuildLocks = 1024

// Lock takes the build lock of k among all goroutines and processes that share
// the root; see [store.Locker]. A process that holds very many gets no more.
func (s *Store) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	free, err := s.lockOffset(ctx, buildOffset(k), wait)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", k.Short(), err)
	}
	if s.buildLocks.Add(1) > maxBuildLocks {
		s.buildLocks.Add(-1)
		free()
		return nil, fmt.Errorf("lock %s: %d are held: %w", k.Short(), maxBuildLocks, lock.ErrUnsupported)
	}
	return sync.OnceFunc(func() {
		free()
		s.buildLocks.Add(-1)
	}), nil
}

func (s *Store) lockOffset(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	if s.o.ReadOnly {
		return nil, fmt.Errorf("a read-only layer: %w", lock.ErrUnsupported)
	}
	for try := 0; ; try++ {
		unlock, err := s.tryLock(ctx, offset, wait)
		switch {
		case err == nil:
			return unlock, nil
		case errors.Is(err, lock.ErrBusy):
			return nil, store.ErrLocked
		case !errors.Is(err, fs.ErrNotExist) || try == maxTries:
			return nil, err
		}
	}
}

func (s *Store) tryLock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	r, err := s.acquire(true)
	if err != nil {
		return nil, err
	}
	defer r.release()
	m, err := r.lockMeta(s.o.hooks.noLocks)
	if err == nil {
		unlock, err = m.locks.Lock(ctx, offset, wait)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.dropIfGone(r)
	}
	return unlock, err
}
