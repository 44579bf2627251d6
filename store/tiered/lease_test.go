package tiered_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// engine is what machines share: bytes and leases.
type engine interface {
	remote.Objects
	remote.Leaser
}

// withLeases returns options of a machine that shares an engine, and what ends its leases.
func withLeases(o engine, ttl time.Duration) (tiered.Options, *lease.Locker) {
	s := remote.New(o, remote.Options{})
	l := lease.New(o, lease.Options{Name: s.LeaseName, TTL: ttl})
	return tiered.Options{Far: []tiered.Far{{Name: "far", Store: s, Locker: l}}}, l
}

// fleet returns machines that share an engine.
func fleet(t *testing.T, n int, o engine) (all []*machine) {
	for range n {
		options, l := withLeases(o, 0)
		m := newMachine(t, options)
		t.Cleanup(func() { l.Close() })
		all = append(all, m)
	}
	return all
}

// maxWait is for how long internal/engine waits, of which a third is for those who gave up.
const maxWait = time.Minute

// build gets an entry as internal/engine does: where it is in no store, one builds, which others
// wait for. It reports whether the caller has built.
func build(ctx context.Context, s *tiered.Store, e *store.Entry, compile func()) (built bool, err error) {
	if _, err := s.Get(ctx, e.Key); err == nil {
		return false, nil
	}
	unlock, err := s.Lock(ctx, e.Key, 0)
	if errors.Is(err, store.ErrLocked) {
		begin := time.Now()
		if unlock, err = s.Lock(ctx, e.Key, maxWait*2/3); errors.Is(err, store.ErrLocked) {
			other := e.Key
			for i := range other.Sum {
				other.Sum[i] ^= 0xff
			}
			unlock, err = s.Lock(store.WithWanted(ctx, e.Key), other, time.Until(begin.Add(maxWait)))
		}
	}
	if err == nil {
		defer unlock()
	} else if !errors.Is(err, store.ErrLocked) {
		return false, err
	}
	if _, err := s.Get(ctx, e.Key); err == nil {
		return false, nil
	}
	compile()
	_, err = s.Put(ctx, e)
	return true, err
}

// crowd has several callers on each machine build one key at once, and returns how many did.
func crowd(t *testing.T, machines []*machine, callers int, e *store.Entry, takes time.Duration) (builds int64) {
	t.Helper()
	var n atomic.Int64
	var all sync.WaitGroup
	for _, m := range machines {
		for range callers {
			all.Go(func() {
				built, err := build(context.Background(), m.Store, e, func() { time.Sleep(takes) })
				if err != nil {
					t.Error(err)
				}
				if built {
					n.Add(1)
				}
			})
		}
	}
	all.Wait()
	for _, m := range machines {
		if _, err := m.Get(context.Background(), e.Key); err != nil {
			t.Errorf("a machine has nothing: %v", err)
		}
	}
	return n.Load()
}

// Rule 3: one build in the fleet, whoever comes when. The lease is held until the entry is uploaded,
// and who gets it then looks again.
func TestOneBuild(t *testing.T) {
	t.Parallel()
	for name, latency := range map[string]time.Duration{"quick": 0, "slow": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var puts atomic.Int64
				m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
					if op == remotetest.Put {
						puts.Add(1)
						return remotetest.Slow(4*latency)(ctx, op, name)
					}
					return remotetest.Slow(latency)(ctx, op, name)
				}}
				machines := fleet(t, 10, m)
				e := storetest.New(t, "e", 1000)
				begin := time.Now()
				if n := crowd(t, machines, 5, e, 2*time.Second); n != 1 {
					t.Errorf("%d builds, want 1", n)
				}
				if took := time.Since(begin); took > 6*time.Second {
					t.Errorf("all are served after %v", took)
				}
				for _, m := range machines {
					m.settle(t)
				}
				if n := puts.Load(); n != 1 {
					t.Errorf("%d uploads, want 1", n)
				}
				var waited, won, gaveUp, from int64
				for _, m := range machines {
					s := m.counts.Snapshot()
					won, waited, gaveUp, from = won+s[stats.LeasesWon], waited+s[stats.LeasesWaited], gaveUp+s[stats.LeasesGivenUp], from+s[stats.RemoteHits]
				}
				if won < 1 || won > 10 || waited < 9 || gaveUp != 0 || from < 9 {
					t.Errorf("leases: %d won, %d waited, %d given up; %d hits", won, waited, gaveUp, from)
				}
			})
		})
	}
}

// One after the other, without a pause: what was not there a moment ago is looked for again by who
// wins the lease.
func TestLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		machines := fleet(t, 2, new(remotetest.Memory))
		e := storetest.New(t, "e", 1000)
		for _, m := range machines { // both remember that it is not there
			if _, err := m.Get(t.Context(), e.Key); err == nil {
				t.Fatal("it is there")
			}
		}
		for i, m := range machines {
			built, err := build(t.Context(), m.Store, e, func() {})
			if err != nil || built != (i == 0) {
				t.Errorf("machine %d: built %v, %v", i, built, err)
			}
			m.settle(t)
		}
	})
}

// A holder that was killed: one more builds, when the lease has run out.
func TestHolderKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		e := storetest.New(t, "e", 1000)
		if _, err := m.Acquire(t.Context(), remote.New(m, remote.Options{}).LeaseName(e.Key), 15*time.Second); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if n := crowd(t, fleet(t, 10, m), 5, e, 2*time.Second); n != 1 {
			t.Errorf("%d builds, want 1", n)
		}
		if took := time.Since(begin); took > 15*time.Second+2*time.Second+4*time.Second {
			t.Errorf("all are served after %v", took)
		}
	})
}

// A holder that hangs and renews its lease for ever: those who wait give up at different times, and
// the others find what the first of them builds.
func TestHolderHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		e := storetest.New(t, "e", 1000)
		held, err := m.Acquire(t.Context(), remote.New(m, remote.Options{}).LeaseName(e.Key), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		machines := fleet(t, 40, m)
		if n := crowd(t, machines, 2, e, 2*time.Second); n > 2 {
			t.Errorf("%d of 40 machines build", n)
		}
		if took := time.Since(begin); took > maxWait+4*time.Second {
			t.Errorf("all are served after %v", took)
		}
		_ = held.Release(t.Context())
	})
}

// A remote that answers few of many calls, and asks for fewer: machines wait their turn, and do not
// all build.
func TestRemoteIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const aSecond = 60 // calls that are answered
		var calls sync.Map
		m := &remotetest.Memory{Fault: func(context.Context, remotetest.Op, string) error {
			n, _ := calls.LoadOrStore(time.Now().Unix(), new(atomic.Int64))
			if n.(*atomic.Int64).Add(1) > aSecond {
				return fmt.Errorf("503: %w", store.ErrBusy)
			}
			return nil
		}}
		e := storetest.New(t, "e", 1000)
		machines := fleet(t, 100, m)
		if n := crowd(t, machines, 1, e, 2*time.Second); n > 20 {
			t.Errorf("%d of 100 machines build", n)
		}
		for _, a := range machines {
			if n := a.counts.Snapshot()[stats.RemoteBreaks]; n != 0 {
				t.Fatalf("a remote that is busy is given up %d times", n)
			}
		}
	})
}

// The engine of the leases fails or hangs: the build lock alone counts, after one deadline.
func TestLeasesFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault func(context.Context, remotetest.Op, string) error
		delay time.Duration
	}{
		"fail": {func(context.Context, remotetest.Op, string) error { return errBroken }, 0},
		"hang": {remotetest.Hang, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
					if op == remotetest.Acquire {
						calls.Add(1)
						return tt.fault(ctx, op, name)
					}
					return nil
				}}
				machines := fleet(t, 1, m)
				e := storetest.New(t, "e", 10)
				begin := time.Now()
				for range 5 {
					unlock, err := machines[0].Lock(t.Context(), e.Key, time.Minute)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := machines[0].Lock(t.Context(), e.Key, 0); !errors.Is(err, store.ErrLocked) {
						t.Errorf("the build lock does not exclude: %v", err)
					}
					unlock()
				}
				if took := time.Since(begin); took != tt.delay {
					t.Errorf("it delays %v, want %v", took, tt.delay)
				}
				if n := calls.Load(); n != 1 {
					t.Errorf("%d calls, want 1", n)
				}
			})
		})
	}
}

// A lease that was asked for, and comes when nobody waits any more, is given back.
func TestLateLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		options, l := withLeases(m, 0)
		options.Far[0].Locker = slowLocker{l}
		a := newMachine(t, options)
		k := storetest.New(t, "k", 1).Key
		unlock, err := a.Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := m.Acquire(t.Context(), remote.New(m, remote.Options{}).LeaseName(k), time.Second); err != nil {
			t.Errorf("the lease that nobody has: %v", err)
		}
		unlock()
	})
}

// A lease that is taken while the end of the one before it is under way is the holder's, whenever that ends.
func TestLeaseBehindASlowRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		options, l := withLeases(new(remotetest.Memory), 0)
		options.Far[0].Locker = slowRelease{l}
		var puts atomic.Int64
		options.Far[0].Store = countedPuts{options.Far[0].Store, &puts}
		a := newMachine(t, options)
		e := storetest.New(t, "e", 10)
		for range 2 {
			unlock, err := a.Lock(t.Context(), e.Key, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
			time.Sleep(2 * time.Second) // in which the first one has ended
			if _, err := a.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			unlock()
			time.Sleep(time.Millisecond) // the end begins
		}
		a.settle(t)
		if n := puts.Load(); n != 2 { // who has the lease uploads, though it is near
			t.Errorf("%d uploads, want 2", n)
		}
	})
}

// slowRelease has released a lease a second before it says so.
type slowRelease struct{ store.Locker }

func (l slowRelease) Lock(ctx context.Context, k key.Key, wait time.Duration) (func(), error) {
	release, err := l.Locker.Lock(ctx, k, wait)
	return func() {
		release()
		time.Sleep(time.Second)
	}, err
}

type countedPuts struct {
	store.Store
	n *atomic.Int64
}

func (c countedPuts) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	c.n.Add(1)
	return c.Store.Put(ctx, e)
}

type slowLocker struct{ store.Locker }

func (l slowLocker) Lock(ctx context.Context, k key.Key, wait time.Duration) (func(), error) {
	time.Sleep(time.Second)
	return l.Locker.Lock(context.WithoutCancel(ctx), k, wait)
}

// The wait ends with its context, and with what the caller says; a known cost bounds it.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		k := storetest.New(t, "k", 1).Key
		if _, err := m.Acquire(t.Context(), remote.New(m, remote.Options{}).LeaseName(k), time.Hour); err != nil {
			t.Fatal(err)
		}
		a := fleet(t, 1, m)[0]
		for _, tt := range []struct {
			cost, wait, least, most time.Duration
		}{
			{0, 0, 0, 0},
			{0, 10 * time.Second, 8 * time.Second, 10 * time.Second},
			{0, time.Hour, time.Minute, 75 * time.Second},
			{10 * time.Second, time.Hour, 20 * time.Second, 25 * time.Second},
			{time.Hour, time.Hour, 96 * time.Second, 2 * time.Minute},
		} {
			seen := make(map[time.Duration]bool)
			for range 10 {
				begin := time.Now()
				if _, err := a.Lock(store.WithCost(t.Context(), tt.cost), k, tt.wait); !errors.Is(err, store.ErrLocked) {
					t.Fatalf("lock: %v", err)
				}
				took := time.Since(begin)
				if took < tt.least || took > tt.most {
					t.Errorf("cost %v, wait %v: it gave up after %v", tt.cost, tt.wait, took)
				}
				seen[took] = true
			}
			if tt.wait > 0 && len(seen) < 5 {
				t.Errorf("cost %v, wait %v: ten give up at %d moments", tt.cost, tt.wait, len(seen))
			}
		}
		if s := a.counts.Snapshot(); s[stats.LeasesWaited] != 40 || s[stats.LeasesGivenUp] != 40 {
			t.Errorf("of 40 waits %d are counted, and %d as given up", s[stats.LeasesWaited], s[stats.LeasesGivenUp])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := a.Lock(ctx, k, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("lock: %v after %v", err, time.Since(begin))
		}
		unlock, err := a.near.Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatalf("the build lock was not given back: %v", err)
		}
		unlock()
	})
}

// Close gives back what leases there are.
func TestCloseDropsLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		machines := fleet(t, 2, new(remotetest.Memory))
		k := storetest.New(t, "k", 1).Key
		unlock, err := machines[0].Lock(t.Context(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := machines[1].Lock(t.Context(), k, 0); !errors.Is(err, store.ErrLocked) {
			t.Errorf("another machine: %v, want ErrLocked", err)
		}
		machines[0].Close()
		synctest.Wait()
		again, err := machines[1].Lock(t.Context(), k, 0)
		if err != nil {
			t.Errorf("after Close: %v", err)
		} else {
			again()
		}
		unlock()
	})
}

// Who waits is served as soon as the entry is there, though the lease, whose holder died behind the
// upload, is held still.
func TestServedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		s := remote.New(m, remote.Options{})
		e := storetest.New(t, "e", 1000)
		if _, err := m.Acquire(t.Context(), s.LeaseName(e.Key), time.Hour); err != nil {
			t.Fatal(err)
		}
		putLater(t, s, e, 10*time.Second)
		begin := time.Now()
		if n := crowd(t, fleet(t, 5, m), 2, e, time.Second); n != 0 {
			t.Errorf("%d builds, want 0", n)
		}
		if took := time.Since(begin); took > 14*time.Second {
			t.Errorf("all are served after %v", took)
		}
	})
}

// putLater puts an entry into a store after a time.
func putLater(t *testing.T, s store.Store, e *store.Entry, after time.Duration) {
	time.AfterFunc(after, func() {
		if _, err := s.Put(context.Background(), e); err != nil {
			t.Error(err)
		}
	})
}

// Who waits for a lock of which it is not known what entry comes looks at the lease alone, each time.
func TestLockWithoutAnEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var entries, leases atomic.Int64 // looks
		m := &remotetest.Memory{Fault: func(_ context.Context, op remotetest.Op, _ string) error {
			switch op {
			case remotetest.Get:
				entries.Add(1)
			case remotetest.Acquire:
				leases.Add(1)
			}
			return nil
		}}
		k := storetest.New(t, "k", 1).Key
		held, err := m.Acquire(t.Context(), remote.New(m, remote.Options{}).LeaseName(k), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(20*time.Second, func() { _ = held.Release(context.Background()) })
		begin := time.Now()
		unlock, err := fleet(t, 1, m)[0].Lock(store.WithWanted(t.Context(), key.Key{}), k, time.Minute)
		if took := time.Since(begin); err != nil || took < 20*time.Second || took > 21500*time.Millisecond || entries.Load() != 0 || leases.Load() < 15 {
			t.Fatalf("%v after %v; it looked %d times for an entry, and %d times at the lease", err, took, entries.Load(), leases.Load())
		}
		unlock()
	})
}

// Who waits in a queue, by another key's lock, is served when the entry is there.
func TestServedInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(remotetest.Memory)
		s := remote.New(m, remote.Options{})
		e, queue := storetest.New(t, "e", 1000), storetest.New(t, "queue", 1).Key
		if _, err := m.Acquire(t.Context(), s.LeaseName(queue), time.Hour); err != nil {
			t.Fatal(err)
		}
		putLater(t, s, e, 10*time.Second)
		a := fleet(t, 1, m)[0]
		begin := time.Now()
		unlock, err := a.Lock(store.WithWanted(t.Context(), e.Key), queue, time.Minute)
		if took := time.Since(begin); err != nil || took > 12*time.Second {
			t.Fatalf("%v after %v", err, took)
		}
		if _, err := a.Get(t.Context(), e.Key); err != nil {
			t.Error(err)
		}
		unlock()
	})
}

// A remote of which a crowd asks at once what one of it has built answers some of them late. Who knows that
// somebody builds asks again; once more late, and it builds.
func TestLateWhileWaiting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		op     remotetest.Op
		late   int64 // calls
		builds int64
		takes  time.Duration // at most
	}{
		"an entry":        {remotetest.Get, 1, 0, 22 * time.Second},
		"a lease":         {remotetest.Acquire, 1, 0, 22 * time.Second},
		"an entry, twice": {remotetest.Get, 2, 1, 10 * time.Second},
		"a lease, twice":  {remotetest.Acquire, 2, 1, 18 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var late atomic.Int64
				begin := time.Now()
				m := &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
					if time.Since(begin) > 5*time.Second && op == tt.op && late.Add(1) <= tt.late {
						return remotetest.Hang(ctx, op, name)
					}
					return nil
				}}
				s := remote.New(m, remote.Options{})
				e := storetest.New(t, "e", 1000)
				if _, err := m.Acquire(t.Context(), s.LeaseName(e.Key), time.Hour); err != nil {
					t.Fatal(err)
				}
				putLater(t, s, e, 20*time.Second)
				if n := crowd(t, fleet(t, 1, m), 1, e, time.Second); n != tt.builds {
					t.Errorf("%d builds, want %d", n, tt.builds)
				}
				if took := time.Since(begin); took > tt.takes || late.Load() < tt.late {
					t.Errorf("it takes %v, want %v at most; %d calls are late", took, tt.takes, min(late.Load(), tt.late))
				}
			})
		})
	}
}
