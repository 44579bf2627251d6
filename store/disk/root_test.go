//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestRootDeletedWhileInUse: a miss, and the next put makes it anew; so do
// locks and statistics.
func TestRootDeletedWhileInUse(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *testing.T, s *Store, e *store.Entry){
		"put":   func(t *testing.T, s *Store, e *store.Entry) { put(t, s, e, store.Stored) },
		"stats": func(t *testing.T, s *Store, e *store.Entry) { must(t, s.AddStats(oneHit())) },
		"lock": func(t *testing.T, s *Store, e *store.Entry) {
			unlock, err := s.Lock(bg, e.Key, 0)
			must(t, err)
			unlock()
		},
		"get": func(t *testing.T, s *Store, e *store.Entry) { wantMiss(t, s, e.Key, reason.MissAbsent) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e := storetest.New(t, "e", 100)
			put(t, s, e, store.Stored)
			must(t, s.AddStats(oneHit()))
			unlock, err := s.Lock(bg, e.Key, 0)
			must(t, err)
			unlock()
			must(t, os.RemoveAll(s.o.Dir))
			next(t, s, e)
			wantMissOrHit(t, s, e)
			if _, err := s.Put(bg, e); err != nil {
				t.Fatal(err)
			}
			if !exists(binPath(s, e.Key)) {
				t.Error("stored where nobody finds it")
			}
			wantHit(t, s, e)
		})
	}
}

func wantMissOrHit(t *testing.T, s *Store, e *store.Entry) {
	t.Helper()
	if _, err := s.Get(bg, e.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
}

// TestDirectoriesRemovedUnderWriters: an evictor that removes what it finds
// empty never makes a put fail.
func TestDirectoriesRemovedUnderWriters(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 40 {
				e := storetest.New(t, fmt.Sprint(j%3), 100)
				if _, err := s.Put(bg, e); err != nil {
					t.Errorf("put: %v", err)
				}
				if i%2 == 0 {
					if err := s.Delete(bg, e.Key); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	wantClean(t, s)
}

// TestOpeningTouchesNothing: New and a store that nobody uses.
func TestOpeningTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	s := New(Options{Dir: dir})
	must(t, s.Close())
	if exists(dir) {
		t.Error("the root was made")
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	unlock, err := s.Lock(bg, e.Key, 0)
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	wantMiss(t, s, e.Key, reason.MissTierOff)
	if _, err := s.Put(bg, e); !errors.Is(err, ErrOff) {
		t.Errorf("put: %v, want ErrOff", err)
	}
	if err := s.Delete(bg, e.Key); !errors.Is(err, ErrOff) {
		t.Errorf("delete: %v, want ErrOff", err)
	}
	if st := s.Status(); st.On {
		t.Error("status says on")
	}
	other := New(s.o)
	defer other.Close()
	if _, err := other.Lock(bg, e.Key, 0); !errors.Is(err, store.ErrLocked) {
		t.Errorf("lock: %v; want that Close does not end a lock that is held", err)
	}
	unlock()
	if again, err := other.Lock(bg, e.Key, 0); err != nil {
		t.Errorf("lock after unlock: %v", err)
	} else {
		again()
	}
}

// TestCloseUnderLoad: closing while requests run harms none of them.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	for range 10 {
		s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), MaxSize: 3 * each})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				e := storetest.New(t, fmt.Sprint(i%3), 500)
				for range 20 {
					if _, err := s.Put(bg, e); err != nil && !errors.Is(err, ErrOff) && !errors.Is(err, store.ErrDropped) {
						t.Errorf("put: %v", err)
					}
					if _, err := s.Get(bg, e.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("get: %v", err)
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		must(t, s.Close())
		wg.Wait()
	}
}

// TestWithoutLocks: it stores, and callers learn that they build without.
func TestWithoutLocks(t *testing.T) {
	t.Parallel()
	none := faultfs.Rule{
		Ops: []safefs.Op{safefs.OpLock}, Nth: 1, Sticky: true, Fault: faultfs.Fault{Err: syscall.ENOLCK},
	}
	s := open(t, func(o *Options) {
		o.hooks.Beneath.Hook, o.hooks.Collide = faultfs.New(none).Hook(), collide
	})
	if _, err := s.Lock(bg, storetest.New(t, "e", 1).Key, time.Second); err == nil || errors.Is(err, store.ErrLocked) {
		t.Errorf("lock: %v, want that there are none", err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := s.Put(bg, storetest.New(t, fmt.Sprint(i%4), 100)); err != nil {
				t.Errorf("put: %v", err)
			}
		})
	}
	wg.Wait()
	for i := range 4 {
		wantHit(t, s, storetest.New(t, fmt.Sprint(i), 100))
	}
	_, err := s.GC(bg, GCOptions{}, nil)
	must(t, err)
}

// TestUnwritableRoot: a put fails and says why; nothing else is harmed.
func TestUnwritableRoot(t *testing.T) {
	t.Parallel()
	asUser(t, func(t *testing.T) {
		top := t.TempDir()
		must(t, os.Chmod(top, 0o500))
		s := New(Options{Dir: filepath.Join(top, "root")})
		defer s.Close()
		e := storetest.New(t, "e", 100)
		wantMiss(t, s, e.Key, reason.MissAbsent)
		if _, err := s.Put(bg, e); !errors.Is(err, ErrOff) || !errors.Is(err, os.ErrPermission) {
			t.Errorf("put: %v", err)
		}
		wantMiss(t, s, e.Key, reason.MissTierOff)
		must(t, os.Chmod(top, 0o700))
	})
}

// TestGetFindsTheNewRoot: the root was removed and another process made it
// anew, with the entry: that is found at once.
func TestGetFindsTheNewRoot(t *testing.T) {
	t.Parallel()
	s, other := open(t), open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	other.at.Dir = s.o.Dir
	must(t, os.RemoveAll(s.o.Dir))
	put(t, other, e, store.Stored)
	wantHit(t, s, e)
}
