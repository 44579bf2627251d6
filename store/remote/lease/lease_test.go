package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
)

func name(k key.Key) string { return "lease/default/" + k.Sum.String() }

func newLocker(l remote.Leaser) *lease.Locker { return lease.New(l, lease.Options{Name: name}) }

// locking is a store with the locks of leases.
type locking struct {
	store.Store
	*lease.Locker
}

func TestLocker(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		l := newLocker(new(remotetest.Memory))
		t.Cleanup(func() { l.Close() })
		return locking{memory.New(memory.Options{}), l}
	})
}

// free reports whether another machine gets the lease of k.
func free(t *testing.T, m remote.Leaser, k key.Key) bool {
	t.Helper()
	l := newLocker(m)
	defer l.Close()
	unlock, err := l.Lock(context.Background(), k, 0)
	if err == nil {
		unlock()
	} else if !errors.Is(err, store.ErrLocked) {
		t.Fatal(err)
	}
	return err == nil
}

// Rule 3: a lease is renewed while its holder builds, and no longer than twice what the build costs:
// a holder that hangs renews it as well.
func TestRenewals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		cost       time.Duration
		held, free time.Duration // after so long
	}{
		{"not known", 0, 55 * time.Second, 81 * time.Second},
		{"known", 30 * time.Second, 55 * time.Second, 81 * time.Second},
		{"short", time.Second, 5 * time.Second, 23 * time.Second},
		{"very long", time.Hour, 115 * time.Second, 141 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := new(remotetest.Memory)
				l, k := newLocker(m), storetest.New(t, "k", 1).Key
				unlock, err := l.Lock(store.WithCost(t.Context(), tt.cost), k, 0)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				for time.Since(begin) < tt.held {
					if free(t, m, k) {
						t.Fatalf("it is free after %v", time.Since(begin))
					}
					time.Sleep(time.Second)
				}
				time.Sleep(tt.free - time.Since(begin))
				if !free(t, m, k) {
					t.Errorf("it is held after %v still", tt.free)
				}
				unlock() // which is another's business by now
			})
		})
	}
}

// Nothing runs while no lease is held; synctest.Test fails if anything does in the end.
func TestEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		m := &remotetest.Memory{Fault: func(_ context.Context, op remotetest.Op, _ string) error {
			if op == remotetest.Renew {
				renewals.Add(1)
			}
			return nil
		}}
		l, a, b := newLocker(m), storetest.New(t, "a", 1).Key, storetest.New(t, "b", 1).Key
		for range 2 {
			unlockA, errA := l.Lock(t.Context(), a, 0)
			unlockB, errB := l.Lock(t.Context(), b, 0)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			time.Sleep(11 * time.Second) // two renewals of each
			unlockA()
			unlockB()
			if !free(t, m, a) || !free(t, m, b) {
				t.Error("held when it is unlocked")
			}
			time.Sleep(time.Minute)
		}
		if n := renewals.Load(); n != 8 {
			t.Errorf("%d renewals, want 8", n)
		}
		// Close releases what is held.
		unlock, err := l.Lock(t.Context(), a, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if !free(t, m, a) {
			t.Error("held after Close")
		}
		unlock()
		if _, err := l.Lock(t.Context(), b, 0); err == nil || errors.Is(err, store.ErrLocked) {
			t.Errorf("lock after Close: %v", err)
		}
	})
}

// Close waits for a release that is under way: behind it the engine's connections end.
func TestCloseWaitsForReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
			if op == remotetest.Release {
				return remotetest.Slow(trip)(ctx, op, name)
			}
			return nil
		}}
		l, k := newLocker(m), storetest.New(t, "k", 1).Key
		unlock, err := l.Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		go unlock()
		time.Sleep(trip / 4)
		begin := time.Now()
		l.Close()
		if took := time.Since(begin); took != trip*3/4 {
			t.Errorf("Close takes %v, want %v", took, trip*3/4)
		}
		if !free(t, m, k) {
			t.Error("held after Close")
		}
	})
}

// A lease that is lost is not renewed any more, and its end takes nobody else's.
func TestLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		var renewals atomic.Int64
		m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, _ string) error {
			if op != remotetest.Renew {
				return nil
			}
			renewals.Add(1)
			if hangs.Load() {
				return remotetest.Hang(ctx, op, "")
			}
			return nil
		}}
		l, k := newLocker(m), storetest.New(t, "k", 1).Key
		unlock, err := l.Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		hangs.Store(true)
		time.Sleep(16 * time.Second)
		other, err := m.Acquire(t.Context(), name(k), time.Hour)
		if err != nil {
			t.Fatalf("a lease that was not renewed: %v", err)
		}
		hangs.Store(false)
		renewals.Store(0)
		time.Sleep(time.Minute / 2)
		if n := renewals.Load(); n != 1 {
			t.Errorf("%d renewals of a lease that is lost, want 1: that says so", n)
		}
		unlock()
		if free(t, m, k) {
			t.Error("the end of a lease that was lost ended another's")
		}
		_ = other.Release(t.Context())
	})
}

// Trouble of the engine is not that somebody has the lease.
func TestTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errFault := errors.New("out of order")
		m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, _ string) error {
			if op == remotetest.Release {
				return remotetest.Hang(ctx, op, "")
			}
			if op == remotetest.Acquire && ctx.Value(errFault) != nil {
				return errFault
			}
			return nil
		}}
		l, k := newLocker(m), storetest.New(t, "k", 1).Key
		if _, err := l.Lock(context.WithValue(t.Context(), errFault, true), k, time.Minute); !errors.Is(err, errFault) || errors.Is(err, store.ErrLocked) {
			t.Errorf("lock: %v, want the engine's error", err)
		}
		unlock, err := l.Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		unlock()
		if took := time.Since(begin); took != 500*time.Millisecond {
			t.Errorf("a release that hangs takes %v", took)
		}
	})
}
