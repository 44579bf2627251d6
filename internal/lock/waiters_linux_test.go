package lock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestLocksTakeOneDescriptor: however many locks are held, and waited for.
func TestLocksTakeOneDescriptor(t *testing.T) {
	t.Parallel()
	p, path := pool(t)
	const held = 2000
	var unlocks []func()
	for i := range int64(held) {
		unlock, err := p.Lock(context.Background(), i, 0)
		if err != nil {
			t.Fatalf("lock %d: %v", i, err)
		}
		unlocks = append(unlocks, unlock)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range int64(200) {
		wg.Go(func() {
			if _, err := p.Lock(ctx, i%5, time.Minute); !errors.Is(err, context.Canceled) {
				t.Errorf("lock: %v, want the context's error", err)
			}
		})
	}
	for range 30 {
		time.Sleep(time.Millisecond)
		if n := openCount(t, path); n != 1 {
			t.Errorf("%d descriptors of the lock file, want 1", n)
			break
		}
	}
	cancel()
	wg.Wait()
	for _, unlock := range unlocks {
		unlock()
	}
	p.Close()
	if n := openCount(t, path); n != 0 {
		t.Errorf("%d descriptors after Close", n)
	}
}

// TestHostClosesTheDescriptor, and may open a file of its own under the same
// number: locks that are held are lost to other processes, those that are taken
// later are not, and the host's file is left alone.
func TestHostClosesTheDescriptor(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		t.Run(map[bool]string{false: "closed", true: "another file"}[reuse], func(t *testing.T) {
			p, _ := pool(t)
			others := New(p.open) // its locks conflict as another process's do
			t.Cleanup(others.Close)
			ctx := context.Background()
			before, err := p.Lock(ctx, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			fd := p.current.f.FD()
			own, err := os.Create(filepath.Join(t.TempDir(), "own"))
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			if err := unix.Close(fd); err != nil {
				t.Fatal(err)
			}
			if reuse {
				if err := unix.Dup3(int(own.Fd()), fd, unix.O_CLOEXEC); err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
			}
			if _, err := p.Lock(ctx, 1, 0); !errors.Is(err, ErrBusy) {
				t.Errorf("the lock of before, in this process: %v, want ErrBusy", err)
			}
			after, err := p.Lock(ctx, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := others.Lock(ctx, 2, 0); !errors.Is(err, ErrBusy) {
				t.Errorf("the lock of after, elsewhere: %v, want ErrBusy", err)
			}
			before()
			again, err := p.Lock(ctx, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			again()
			after()
			if unlock, err := others.Lock(ctx, 2, 0); err != nil {
				t.Errorf("after unlock: %v", err)
			} else {
				unlock()
			}
			if reuse && fcntlOwner(t, own) != unix.F_UNLCK {
				t.Error("the host's file was locked")
			}
			if reuse {
				var st unix.Stat_t
				if err := unix.Fstat(fd, &st); err != nil {
					t.Errorf("the host's descriptor: %v", err)
				}
			}
		})
	}
}

// fcntlOwner returns the type of the lock that keeps another description from f.
func fcntlOwner(t *testing.T, f *os.File) int16 {
	t.Helper()
	g, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(g.Fd(), unix.F_OFD_GETLK, &lk); err != nil {
		t.Fatal(err)
	}
	return lk.Type
}

// TestUnlockWakesAtOnce: a waiter of the same process does not poll.
func TestUnlockWakesAtOnce(t *testing.T) {
	t.Parallel()
	p, _ := pool(t)
	synctest.Test(t, func(t *testing.T) {
		unlock, err := p.Lock(context.Background(), 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			again, err := p.Lock(context.Background(), 5, time.Hour)
			if err == nil {
				again()
			}
			got <- err
		}()
		synctest.Wait() // for the first of its looks
		begin := time.Now()
		unlock()
		if err := <-got; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it looks again after %v", took)
		}
	})
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
