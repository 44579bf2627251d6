package remotetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store/remote"
)

const long = time.Hour // a lease that does not end during a test

func acquire(t *testing.T, l remote.Leaser, name string, ttl time.Duration) remote.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), name, ttl)
	if err != nil {
		t.Fatalf("acquire %s: %v", name, err)
	}
	return lease
}

func wantHeld(t *testing.T, l remote.Leaser, name string) {
	t.Helper()
	if lease, err := l.Acquire(t.Context(), name, long); !errors.Is(err, remote.ErrHeld) || lease != nil {
		t.Fatalf("acquire %s: %v, want ErrHeld", name, err)
	}
}

func release(t *testing.T, lease remote.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// leaseExcludes: one holder a name, until it releases.
func leaseExcludes(t *testing.T, _ remote.Objects, l remote.Leaser) {
	one := acquire(t, l, "lease/default/a", long)
	wantHeld(t, l, "lease/default/a")
	other := acquire(t, l, "lease/default/b", long)
	if err := one.Renew(t.Context(), long); err != nil {
		t.Errorf("renew: %v", err)
	}
	wantHeld(t, l, "lease/default/a")
	release(t, one)
	two := acquire(t, l, "lease/default/a", long)
	release(t, one) // it is another's now
	wantHeld(t, l, "lease/default/a")
	if err := one.Renew(t.Context(), long); !errors.Is(err, remote.ErrLost) {
		t.Errorf("renew of what was released: %v, want ErrLost", err)
	}
	wantHeld(t, l, "lease/default/b")
	release(t, two)
	release(t, other)
}

// leaseOfMany: of many who ask at one time one gets it, each time.
func leaseOfMany(t *testing.T, _ remote.Objects, l remote.Leaser) {
	for range 3 {
		var won, failed atomic.Int64
		var held atomic.Value
		together(12, func(int) {
			switch lease, err := l.Acquire(context.Background(), "lease/default/x", long); {
			case err == nil:
				won.Add(1)
				held.Store(&lease)
			case !errors.Is(err, remote.ErrHeld):
				failed.Add(1)
				t.Errorf("acquire: %v", err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d won, %d failed; want 1 and 0", won.Load(), failed.Load())
		}
		release(t, *held.Load().(*remote.Lease))
	}
}

// leaseEnds: one that is not renewed ends, and is then lost to who had it.
func leaseEnds(t *testing.T, _ remote.Objects, l remote.Leaser) {
	const name, ttl = "lease/default/x", 2 * time.Second
	start := time.Now()
	one := acquire(t, l, name, ttl)
	var two remote.Lease
	for two == nil {
		lease, err := l.Acquire(t.Context(), name, long)
		switch {
		case err == nil:
			two = lease
		case !errors.Is(err, remote.ErrHeld):
			t.Fatalf("acquire: %v", err)
		case time.Since(start) > time.Minute:
			t.Fatalf("a lease of %v is held after %v", ttl, time.Since(start))
		default:
			time.Sleep(50 * time.Millisecond)
		}
	}
	// Clocks of servers may tell whole seconds only.
	if took := time.Since(start); took < ttl-time.Second {
		t.Errorf("a lease of %v ended after %v", ttl, took)
	}
	if err := one.Renew(t.Context(), long); !errors.Is(err, remote.ErrLost) {
		t.Errorf("renew: %v, want ErrLost", err)
	}
	release(t, one)
	wantHeld(t, l, name)
	if err := two.Renew(t.Context(), long); err != nil {
		t.Errorf("renew by who has it: %v", err)
	}
	release(t, two)
	release(t, acquire(t, l, name, long))
}

// leaseIsRenewed: one that is renewed outlives its first end.
func leaseIsRenewed(t *testing.T, _ remote.Objects, l remote.Leaser) {
	const name, ttl = "lease/default/x", 3 * time.Second
	for range 5 {
		start := time.Now()
		lease := acquire(t, l, name, ttl)
		err := lease.Renew(t.Context(), long)
		if err != nil && errors.Is(err, remote.ErrLost) && time.Since(start) > ttl/2 {
			continue // the machine was busy
		}
		if err != nil {
			t.Fatalf("renew: %v", err)
		}
		for time.Since(start) < ttl+1500*time.Millisecond {
			wantHeld(t, l, name)
			time.Sleep(100 * time.Millisecond)
		}
		wantHeld(t, l, name)
		release(t, lease)
		return
	}
	t.Fatal("the machine is too busy: each lease ended before it was renewed")
}

func leaseCancelled(t *testing.T, _ remote.Objects, l remote.Leaser) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if lease, err := l.Acquire(ctx, "lease/default/x", long); !errors.Is(err, context.Canceled) || lease != nil {
		t.Errorf("acquire: %v, want the context's error", err)
	}
	lease := acquire(t, l, "lease/default/x", long)
	if err := lease.Renew(ctx, long); !errors.Is(err, context.Canceled) {
		t.Errorf("renew: %v, want the context's error", err)
	}
	if err := lease.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("release: %v, want the context's error", err)
	}
	release(t, lease)
}

// leaseIsNoObject: who reads or lists objects sees no lease among those of entries.
func leaseIsNoObject(t *testing.T, o remote.Objects, l remote.Leaser) {
	put(t, o, "v1/default/x", "x")
	lease := acquire(t, l, "lease/default/x", long)
	defer release(t, lease)
	want(t, o, "v1/default/x", "x")
	for one, err := range o.List(t.Context(), "v1/") {
		if err == nil && one.Name != "v1/default/x" {
			t.Errorf("listed: %s", one.Name)
		}
	}
}
