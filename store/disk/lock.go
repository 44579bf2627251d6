package disk

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// maxBuildLocks bounds the build locks of one Store. The kernel keeps the locks
// of a file in a list, which every other lock of it is compared with: ten
// thousand make each take a millisecond, for all processes.
const maxBuildLocks = 1024

// Lock takes the build lock of k among all goroutines and processes that share
// the root; see [store.Locker]. A process that holds very many gets no more.
func (s *Store) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	free, err := s.at.Lock(ctx, rootdir.BuildLock(k), wait)
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

// BuildLocks returns the file in which build locks are taken. Each is of one byte, at an offset of at least from and
// less than below, but for few.
func (s *Store) BuildLocks() (path string, from, below int64) {
	return filepath.Join(s.o.Dir, rootdir.MetaDir, rootdir.LockFile), 1 << 40, 1 << 62
}
