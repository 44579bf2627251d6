package lock

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"
)

// TestWaitersKeepNoDescriptor: a crowd that waits does not exhaust them.
func TestWaitersKeepNoDescriptor(t *testing.T) {
	t.Parallel()
	p, path := pool(t)
	unlock, err := p.Lock(context.Background(), 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := p.Lock(ctx, 5, time.Minute); !errors.Is(err, context.Canceled) {
				t.Errorf("lock: %v, want the context's error", err)
			}
		})
	}
	for range 30 {
		time.Sleep(time.Millisecond)
		if n := openCount(t, path); n > 1+maxIdle {
			t.Errorf("%d descriptors of the lock file", n)
			break
		}
	}
	cancel()
	wg.Wait()
	unlock()
}

// openCount counts this process's descriptors of a file.
func openCount(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
