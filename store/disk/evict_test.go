//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// putAged puts entries of one size, each an hour after the one before.
func putAged(t *testing.T, s *Store, c *clock, size, n int) []*store.Entry {
	t.Helper()
	entries := make([]*store.Entry, n)
	for i := range entries {
		entries[i] = sized(t, s, fmt.Sprintf("e%02d", i), size)
		put(t, s, entries[i], store.Stored)
		settled(s)
		c.add(time.Hour)
	}
	return entries
}

// TestLRUKeepsWhatWasRead: put 0, 1, 2, read 0, exceed the limit with a
// fourth: 1 goes, 0 stays (DPC++ 7). The use of an entry is recorded at
// once where the last record is a millisecond old.
func TestLRUKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	c := newClock()
	// Down to two thirds of three and a half means that two of four entries go.
	s := open(t, func(o *Options) { o.MaxSize, o.Now = each*7/2, c.now })
	e := putAged(t, s, c, 1000, 3)
	wantHit(t, s, e[0])
	c.add(time.Hour)
	last := sized(t, s, "last", 1000)
	put(t, s, last, store.Stored)
	settled(s)
	wantMiss(t, s, e[1].Key, reason.MissAbsent)
	wantMiss(t, s, e[2].Key, reason.MissAbsent)
	wantHit(t, s, e[0])
	wantHit(t, s, last)
}

// What is there is there, also where there is no room for anything.
func TestExistingOverTheLimit(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxSize = 8 * each })
	e := sized(t, s, "e", 1000)
	put(t, s, e, store.Stored)
	for i := 0; s.Status().Bytes <= s.o.MaxSize; i++ {
		leaveRecipe(t, s, storetest.New(t, fmt.Sprint("left.", i), 100).Recipe) // which nobody evicts for an hour
	}
	put(t, s, e, store.Existing)
}

// TestTwoOldestOfSixGo: six entries of a sixth of the limit, and one more: the
// oldest go, down to two thirds (NEO).
func TestTwoOldestOfSixGo(t *testing.T) {
	t.Parallel()
	c := newClock()
	var counts stats.Counters
	s := open(t, func(o *Options) { o.MaxSize, o.Now, o.Recorder = 6*each, c.now, &counts })
	e := putAged(t, s, c, 1000, 7)
	for i, entry := range e {
		if i < 3 {
			wantMiss(t, s, entry.Key, reason.MissAbsent)
		} else {
			wantHit(t, s, entry)
		}
	}
	st := s.Status()
	if st.Bytes != 4*each || st.Entries != 4 || !st.Counted {
		t.Errorf("account %+v, want 4 entries of %d bytes", st, each)
	}
	n := counts.Snapshot()
	if n.Get(stats.DiskEvictions) != 3 || n.Get(stats.DiskBytesEvicted) != 3*each {
		t.Errorf("%d evictions of %d bytes counted, want 3", n.Get(stats.DiskEvictions), n.Get(stats.DiskBytesEvicted))
	}
	if list, _ := filepath.Glob(filepath.Join(s.o.Dir, "*", "*", "*", "*")); len(list) != 4 {
		t.Errorf("%d leaf directories are left for 4 entries", len(list))
	}
}

// TestCostPolicy: what saves least build time per byte goes first, aged.
func TestCostPolicy(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.MaxSize, o.Now, o.Policy = 1<<30, c.now, Cost })
	add := func(seed string, size int, cost, age time.Duration) *store.Entry {
		e := sized(t, s, seed, size)
		e.Artifact.Cost = cost
		put(t, s, e, store.Stored)
		setMtime(t, binPath(s, e.Key), c.now().Add(-age))
		return e
	}
	order := []*store.Entry{
		add("cheap and large", 40_000, time.Millisecond, 0),
		add("cheap", 1000, time.Millisecond, 0),
		add("dear long ago", 1000, time.Second, 14*7*24*time.Hour),
		add("dear and large", 80_000, time.Second, 0),
		add("dear", 1000, time.Second, time.Hour),
		add("dear and new", 1000, time.Second, 0),
	}
	settled(s)
	// By worth: 2 of these have been halved 14 times.
	for place, i := range []int{2, 0, 1, 3, 4, 5} {
		_, err := s.GC(bg, GCOptions{MaxSize: s.Status().Bytes - 1}, nil)
		must(t, err)
		if exists(binPath(s, order[i].Key)) || s.Status().Entries != int64(len(order)-1-place) {
			t.Errorf("%d entries are left, and place %d is not %s", s.Status().Entries, place, order[i].Artifact.Log)
		}
	}
}

// TestUsedSinceTheWalkIsSpared: as is what was replaced.
func TestUsedSinceTheWalkIsSpared(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := putAged(t, s, c, 1000, 3)
	victims, err := s.victims()
	must(t, err)
	wantHit(t, s, e[0])
	must(t, os.Truncate(binPath(s, e[1].Key), 10))
	c.add(time.Hour)
	put(t, s, e[1], store.Bettered)
	must(t, s.evictThese(victims))
	wantHit(t, s, e[0])
	wantHit(t, s, e[1])
	wantMiss(t, s, e[2].Key, reason.MissAbsent)
}

// TestCallsOfARemoval: an entry that was looked into is removed without being read again.
func TestCallsOfARemoval(t *testing.T) {
	t.Parallel()
	plan := faultfs.New()
	s := open(t, func(o *Options) { *o = o.WithFiles(safefs.Options{Hook: plan.Hook()}) })
	put(t, s, sized(t, s, "e", 1000), store.Stored)
	settled(s)
	victims, err := s.victims()
	must(t, err)
	must(t, s.withRoot(func(root *evictable) error {
		before := len(plan.Calls())
		if _, gone := root.Remove(bg, &victims[0], false); !gone || len(victims) != 1 {
			t.Errorf("%d victims; removed: %v", len(victims), gone)
		}
		calls := make(map[safefs.Op]int)
		for _, op := range plan.Calls()[before:] {
			calls[op]++
		}
		if calls[safefs.OpFstatat] != 2 || calls[safefs.OpUnlink] != 2 || calls[safefs.OpPread] != 0 {
			t.Errorf("calls %v", calls)
		}
		return nil
	}))
}

// TestTooLarge: larger than the limit is refused early, and nothing is evicted
// for it (NEO).
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxSize = 2 * each })
	e := sized(t, s, "small", 1000)
	put(t, s, e, store.Stored)
	big := storetest.New(t, "big", 2*each)
	if res, err := s.Put(bg, big); !errors.Is(err, store.ErrTooLarge) || res != store.Failed {
		t.Errorf("put: %d, %v; want ErrTooLarge", res, err)
	}
	settled(s)
	wantHit(t, s, e)
	if exists(binPath(s, big.Key)) {
		t.Error("it was stored")
	}
}

// TestFullStoreDrops: while the evictor does not catch up puts are dropped and
// counted, and nobody waits.
func TestFullStoreDrops(t *testing.T) {
	t.Parallel()
	var counts stats.Counters
	s := open(t, func(o *Options) { o.MaxSize, o.Recorder = 5*each, &counts })
	put(t, s, sized(t, s, "first", 1000), store.Stored)
	settled(s)
	// Another process's evictor runs, and never ends.
	other := New(Options{Dir: s.o.Dir})
	defer other.Close()
	var unlock func()
	must(t, other.withRoot(func(root *evictable) (err error) {
		unlock, err = root.m.LockEvict(bg, 0, time.Minute)
		return err
	}))
	dropped := 0
	start := time.Now()
	for i := range 10 {
		switch _, err := s.Put(bg, sized(t, s, fmt.Sprint("n", i), 1000)); {
		case errors.Is(err, store.ErrDropped):
			dropped++
		case err != nil:
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 2*time.Minute { // a wait would be for ever
		t.Errorf("ten puts took %v: they waited", took)
	}
	settled(s)
	if st := s.Status(); st.Bytes > 5*each+each || dropped == 0 || st.Entries != int64(11-dropped) {
		t.Errorf("%d bytes in %d entries, %d dropped", st.Bytes, st.Entries, dropped)
	}
	if n := counts.Snapshot().Get(stats.DiskPutsDropped); n != int64(dropped) {
		t.Errorf("%d counted, %d dropped", n, dropped)
	}
	unlock()
	for end := time.Now().Add(time.Minute); s.Status().Bytes > 5*each && time.Now().Before(end); {
		evictNow(s) // which rests a little after it found that another one evicts
		time.Sleep(time.Millisecond)
	}
	put(t, s, sized(t, s, "again", 1000), store.Stored)
}

// TestTinyLimitUnderLoad: 40 threads of put and evict under a tiny limit: no
// deadlock, no crash, the limit kept (DPC++ 8).
func TestTinyLimitUnderLoad(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{LRU, Cost} {
		const limit, size, threads = 20 * each, 1000, 40
		s := open(t, func(o *Options) { o.MaxSize, o.Policy = limit, policy })
		ctx, cancel := context.WithTimeout(bg, 3*time.Minute)
		defer cancel()
		// So many that the bound could be passed several times over.
		entries := make([]*store.Entry, 400)
		for i := range entries {
			entries[i] = sized(t, s, fmt.Sprintf("e%03d", i), size)
		}
		var wg sync.WaitGroup
		for range threads {
			wg.Go(func() {
				for range 20 {
					e := entries[rand.N(len(entries))]
					if _, err := s.Put(ctx, e); err != nil && !errors.Is(err, store.ErrDropped) {
						t.Errorf("put: %v", err)
					}
					if _, err := s.Get(ctx, e.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("get: %v", err)
					}
				}
			})
		}
		wg.Wait()
		settled(s)
		r := wantClean(t, s)
		if r.Bytes > limit+threads*each {
			t.Errorf("%v: %d bytes are left, the limit is %d and at most %d were in flight", policy, r.Bytes, limit, threads*each)
		}
		_, err := s.GC(bg, GCOptions{}, nil)
		must(t, err)
		if r := wantClean(t, s); r.Bytes > limit || s.Status().Bytes != r.Bytes {
			t.Errorf("%v: %d bytes after gc, the account says %d", policy, r.Bytes, s.Status().Bytes)
		}
	}
}

// TestAccountUnderLoad: 50 threads change the account; it is exact (DPC++ 8).
func TestAccountUnderLoad(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 6 {
				e := storetest.New(t, fmt.Sprintf("%d.%d", i, j), 500+10*i)
				if _, err := s.Put(bg, e); err != nil {
					t.Errorf("put: %v", err)
				}
				if j%2 == 0 {
					if err := s.Delete(bg, e.Key); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	r := wantClean(t, s)
	if st := s.Status(); st.Bytes != r.Bytes || st.Entries != r.Entries || r.Entries != 150 {
		t.Errorf("account: %d bytes, %d entries; there are %d and %d", st.Bytes, st.Entries, r.Bytes, r.Entries)
	}
}

// TestAccountMends: an account that was lost, damaged or made wrong by hand is
// right after the next count, and puts go on meanwhile (NEO: unreadable
// account, no store, builds go on).
func TestAccountMends(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, s *Store){
		"removed":   func(t *testing.T, s *Store) { must(t, os.Remove(filepath.Join(s.o.Dir, ".meta/account"))) },
		"truncated": func(t *testing.T, s *Store) { must(t, os.Truncate(filepath.Join(s.o.Dir, ".meta/account"), 70)) },
		"entries deleted by hand": func(t *testing.T, s *Store) {
			dirs, err := filepath.Glob(filepath.Join(s.o.Dir, "????????????????????????????????", "*"))
			must(t, err)
			for _, d := range dirs[1:] {
				must(t, os.RemoveAll(d))
			}
		},
		"all of .meta removed": func(t *testing.T, s *Store) { must(t, os.RemoveAll(filepath.Join(s.o.Dir, ".meta"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			s := open(t, func(o *Options) { o.MaxSize, o.Now = 6*each, c.now })
			putAged(t, s, c, 1000, 6)
			must(t, s.Close())
			damage(t, s)
			s = New(s.o)
			defer s.Close()
			_, err := s.Put(bg, sized(t, s, "one more", 1000))
			if err != nil && !errors.Is(err, store.ErrDropped) {
				t.Fatal(err)
			}
			settled(s)
			r := wantClean(t, s)
			if st := s.Status(); st.Bytes != r.Bytes || st.Entries != r.Entries || !st.Counted || r.Bytes > 6*each {
				t.Errorf("account %+v; there are %d bytes, %d entries", st, r.Bytes, r.Entries)
			}
		})
	}
}

// TestEvictionUnderAReader: unlinking a file that is being read is safe.
func TestEvictionUnderAReader(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 200_000)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, err := s.Get(bg, e.Key)
				var m *store.MissError
				if err != nil && (!errors.As(err, &m) || m.Reason != reason.MissAbsent) {
					t.Errorf("get: %v, want a hit or absence", err)
				}
			}
		})
	}
	for range 60 {
		if _, err := s.Put(bg, e); err != nil {
			t.Errorf("put: %v", err)
		}
		must(t, s.evictAll())
	}
	close(stop)
	wg.Wait()
}
