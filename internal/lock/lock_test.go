package lock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
)

// pool returns a pool over a lock file, and the file's path.
func pool(t *testing.T) (*Pool, string) {
	t.Helper()
	return poolWith(t, nil)
}

func poolWith(t *testing.T, hook *safefs.Hook) (*Pool, string) {
	t.Helper()
	d, _, err := safefs.OpenRoot(t.TempDir(), safefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	dir, _, err := safefs.OpenRoot(path, safefs.Options{Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	p := New(func() (safefs.File, error) {
		f, err := dir.Create("locks")
		if errors.Is(err, os.ErrExist) {
			f, _, err = dir.OpenWrite("locks")
		}
		return f, err
	})
	t.Cleanup(func() { p.Close(); dir.Close() })
	return p, filepath.Join(path, "locks")
}

func TestOffsetsAreIndependent(t *testing.T) {
	t.Parallel()
	p, _ := pool(t)
	for _, offset := range []int64{0, 1, 1 << 40, 1<<62 - 1, 1 << 62, 1<<62 | 1<<61} {
		unlock, err := p.Lock(context.Background(), offset, 0)
		if err != nil {
			t.Fatalf("offset %d: %v", offset, err)
		}
		defer unlock()
		if _, err := p.Lock(context.Background(), offset, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("offset %d twice: %v, want ErrBusy", offset, err)
		}
	}
}

func TestUnlockTwiceFreesNobodyElse(t *testing.T) {
	t.Parallel()
	p, _ := pool(t)
	unlock, err := p.Lock(context.Background(), 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	again, err := p.Lock(context.Background(), 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	unlock()
	if _, err := p.Lock(context.Background(), 5, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("after a second unlock of another holder: %v, want ErrBusy", err)
	}
}

// TestRemovedLockFile: a file that was removed excludes nobody, so a new one
// is made.
func TestRemovedLockFile(t *testing.T) {
	t.Parallel()
	p, path := pool(t)
	unlock, err := p.Lock(context.Background(), 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if unlock, err = p.Lock(context.Background(), 5, 0); err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock is on a file without a name: %v", err)
	}
}

func TestManyWaitersAllGetIt(t *testing.T) {
	t.Parallel()
	p, _ := pool(t)
	var inside, total atomic.Int64
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			unlock, err := p.Lock(context.Background(), 9, time.Minute)
			if err != nil {
				t.Errorf("lock: %v", err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two inside")
			}
			total.Add(1)
			inside.Add(-1)
			unlock()
		})
	}
	wg.Wait()
	if total.Load() != 30 {
		t.Errorf("%d of 30 got the lock", total.Load())
	}
}

// TestHungAttemptHoldsNobodyUp: on a network file system a call may hang, which
// concerns only who waits for that byte.
func TestHungAttemptHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	hangs, goOn := make(chan struct{}), make(chan struct{})
	p, _ := poolWith(t, &safefs.Hook{Before: func(op safefs.Op, size int) (int, error) {
		if op == safefs.OpLock && armed.CompareAndSwap(true, false) {
			close(hangs)
			<-goOn
		}
		return size, nil
	}})
	held, err := p.Lock(context.Background(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() {
		if unlock, err := p.Lock(context.Background(), 2, 0); err != nil {
			t.Errorf("the attempt that hung: %v", err)
		} else {
			unlock()
		}
	})
	<-hangs
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := p.Lock(context.Background(), 1, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("a byte that is held: %v, want ErrBusy", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		for _, offset := range []int64{1, 2} {
			if _, err := p.Lock(ctx, offset, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("byte %d: %v, want the context's error", offset, err)
			}
		}
		held()
		if unlock, err := p.Lock(context.Background(), 1, 0); err != nil {
			t.Errorf("a free byte: %v", err)
		} else {
			unlock()
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("others wait for the attempt that hangs")
	}
	close(goOn)
	<-done
	wg.Wait()
}
