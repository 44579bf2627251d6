package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// oneKeyManyGoroutines: 300 of them put and get one key; each get is a miss or
// the whole artifact, and one put stores (DPC++ 3).
func oneKeyManyGoroutines(t *testing.T, s store.Store) {
	e := New(t, "hot", 20_000)
	var stored, damaged atomic.Int64
	together(300, func(int) {
		res, err := s.Put(context.Background(), e)
		if err != nil {
			t.Errorf("put: %v", err)
		}
		if res == store.Stored {
			stored.Add(1)
		}
		got, err := s.Get(context.Background(), e.Key)
		if err != nil || !sameCode(got.Artifact, "hot") {
			damaged.Add(1)
		}
	})
	if stored.Load() != 1 || damaged.Load() != 0 {
		t.Errorf("%d puts stored, %d gets after a put found no or other code; want 1 and 0", stored.Load(), damaged.Load())
	}
	mustGet(t, s, e.Key, e.Artifact)
}

func manyKeys(t *testing.T, s store.Store) {
	const goroutines, keys = 16, 8
	together(goroutines, func(i int) {
		for j := range keys {
			seed := fmt.Sprintf("%d.%d", i, j)
			e := New(t, seed, 1000+j)
			if res, err := s.Put(context.Background(), e); err != nil || res != store.Stored {
				t.Errorf("put %s: %d, %v", seed, res, err)
			}
			if got, err := s.Get(context.Background(), e.Key); err != nil || !sameCode(got.Artifact, seed) {
				t.Errorf("get %s: %v", seed, err)
			}
			if j%4 == 3 {
				if err := s.Delete(context.Background(), e.Key); err != nil {
					t.Errorf("delete %s: %v", seed, err)
				}
			}
		}
	})
	listed := make(map[key.Key]bool)
	for info, err := range s.List(context.Background()) {
		if err != nil || info.Bad != nil || listed[info.Key] {
			t.Fatalf("list: %v, %v, twice: %t", err, info.Bad, listed[info.Key])
		}
		listed[info.Key] = true
	}
	for i := range goroutines {
		for j := range keys {
			seed := fmt.Sprintf("%d.%d", i, j)
			k := New(t, seed, 1000+j).Key
			if want := j%4 != 3; listed[k] != want {
				_, err := s.Get(context.Background(), k)
				t.Errorf("%s listed: %t, want %t; get: %v", seed, listed[k], want, err)
			}
			delete(listed, k)
		}
	}
	if len(listed) > 0 {
		t.Errorf("%d entries of nobody", len(listed))
	}
}

func cancelledContext(t *testing.T, s store.Store) {
	e := New(t, "e", 100)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Put(ctx, e); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v, want the context's error", err)
	}
	if _, err := s.Get(ctx, e.Key); !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v, want a miss that wraps the context's error", err)
	}
	if err := s.Delete(ctx, e.Key); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v, want the context's error", err)
	}
	put(t, s, e, store.Stored)
	var last error
	for _, err := range s.List(ctx) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("list: %v, want the context's error", last)
	}
	mustGet(t, s, e.Key, e.Artifact)
}

// together runs f in n goroutines that start at once.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// long is a wait that a working lock never needs.
const long = 30 * time.Second

func lockExcludes(t *testing.T, _ store.Store, l store.Locker) {
	k := New(t, "k", 1).Key
	var inside, most atomic.Int64
	together(12, func(int) {
		unlock, err := l.Lock(context.Background(), k, long)
		if err != nil {
			t.Errorf("lock: %v", err)
			return
		}
		if n := inside.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		unlock()
	})
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once", most.Load())
	}
}

func lockTimesOut(t *testing.T, _ store.Store, l store.Locker) {
	k := New(t, "k", 1).Key
	unlock, err := l.Lock(context.Background(), k, 0)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	for _, wait := range []time.Duration{-1, 0, 30 * time.Millisecond} {
		start := time.Now()
		if _, err := l.Lock(context.Background(), k, wait); !errors.Is(err, store.ErrLocked) {
			t.Errorf("lock with wait %v: %v, want ErrLocked", wait, err)
		}
		if took := time.Since(start); took < wait || took > wait+5*time.Second {
			t.Errorf("lock with wait %v gave up after %v", wait, took)
		}
	}
	unlock()
	again, err := l.Lock(context.Background(), k, 0)
	if err != nil {
		t.Fatalf("lock after unlock: %v", err)
	}
	again()
}

func lockIsPerKey(t *testing.T, _ store.Store, l store.Locker) {
	for _, seed := range []string{"a", "b", "c"} {
		unlock, err := l.Lock(context.Background(), New(t, seed, 1).Key, 0)
		if err != nil {
			t.Fatalf("lock of %s while others are held: %v", seed, err)
		}
		defer unlock()
	}
}

func lockEndsByContext(t *testing.T, _ store.Store, l store.Locker) {
	k := New(t, "k", 1).Key
	unlock, err := l.Lock(context.Background(), k, 0)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := l.Lock(ctx, k, long); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrLocked) {
		t.Errorf("lock: %v, want the context's error", err)
	}
}

// lockAllowsPut: who holds the build lock of a key puts its entry.
func lockAllowsPut(t *testing.T, s store.Store, l store.Locker) {
	e := New(t, "e", 100)
	unlock, err := l.Lock(context.Background(), e.Key, 0)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	defer unlock()
	put(t, s, e, store.Stored)
	mustGet(t, s, e.Key, e.Artifact)
}

func unlockAnywhere(t *testing.T, _ store.Store, l store.Locker) {
	k := New(t, "k", 1).Key
	unlock, err := l.Lock(context.Background(), k, 0)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		unlock()
	}()
	again, err := l.Lock(context.Background(), k, long)
	if err != nil {
		t.Fatalf("lock after another goroutine's unlock: %v", err)
	}
	again()
}
