//go:build linux

package disk

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/storetest"
)

// ageInTurn puts n entries, each used a minute after the one before, and returns
// a store over the limit by all of them, so that a third has to go.
func ageInTurn(t *testing.T, n int, entry func(i int) *store.Entry, setup func(o *Options)) (*Store, []key.Key) {
	t.Helper()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	keys := make([]key.Key, n)
	for i := range n {
		e := entry(i)
		keys[i] = e.Key
		put(t, s, e, store.Stored)
		c.add(time.Minute)
	}
	settled(s)
	o := s.o
	o.MaxSize = s.Status().Bytes - 1
	setup(&o)
	limited := New(o)
	t.Cleanup(func() { limited.Close() })
	return limited, keys
}

func evictNow(s *Store) {
	s.evictor.Wake()
	settled(s)
}

// evicted says how many of the entries are gone, and how many of those in the
// older third and in the newer half.
func evicted(s *Store, keys []key.Key) (gone, third, half int) {
	for i, k := range keys {
		if !exists(binPath(s, k)) {
			gone++
			if i < len(keys)/3 {
				third++
			}
			if i >= len(keys)/2 {
				half++
			}
		}
	}
	return gone, third, half
}

// TestOrderOfEviction: a root of few entries is ranked exactly. In a larger one each
// group gives its share, and nothing of the better half goes but by the sample's error,
// though half of all are of one image; a group of more entries than are remembered is trimmed
// again.
func TestOrderOfEviction(t *testing.T) {
	t.Parallel()
	distinct := func(i int) *store.Entry { return storetest.New(t, fmt.Sprint("e", i), 100) }
	oneImage := func(i int) *store.Entry { // larger by the two directories that the others share
		return storetest.Entry(storetest.Recipe(t, "kernel void k() {}", fmt.Sprintf("-DN=%d", i)), fmt.Sprint(i), 100+2*block)
	}
	type order struct {
		n      int
		entry  func(i int) *store.Entry
		bounds evict.Bounds
		wrong  int // of a hundred that are gone
		half   int // of a hundred that are gone may be of the better half
	}
	tests := map[string]order{
		"exact":     {1000, distinct, evict.Bounds{}, 0, 0},
		"groups":    {1000, distinct, evict.Bounds{Exact: 100, Group: 100}, 25, 3},
		"one image": {300, oneImage, evict.Bounds{Victims: 20}, 0, 0},
		"newer variants": {1000, func(i int) *store.Entry {
			if i < 450 {
				return distinct(i)
			}
			return oneImage(i)
		}, evict.Bounds{Exact: 100, Group: 100}, 25, 3},
		"older variants": {1000, func(i int) *store.Entry {
			if i < 550 {
				return oneImage(i)
			}
			return distinct(i)
		}, evict.Bounds{Exact: 100, Group: 100}, 25, 5}, // in some orders of the groups 3.6
	}
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		tests["many"] = order{10_000, distinct, evict.Bounds{}, 20, 2}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, keys := ageInTurn(t, test.n, test.entry, func(o *Options) { o.hooks.bounds = test.bounds })
			evictNow(s)
			st, limit := s.Status(), s.o.MaxSize
			if st.Bytes > limit || st.Bytes < limit/2 || !st.Counted {
				t.Errorf("%d bytes are left of %d, known: %v", st.Bytes, limit, st.Counted)
			}
			// A larger root is trimmed until it is below its limit; gc does the rest.
			_, err := s.GC(bg, GCOptions{MaxSize: limit / 3 * 2}, nil)
			must(t, err)
			st = s.Status()
			gone, third, half := evicted(s, keys)
			t.Logf("%d are gone: %d of the older third, %d of the newer half", gone, third, half)
			if wrong := gone - third - 8; half*100 > test.half*gone || wrong*100 > test.wrong*gone {
				t.Errorf("at most %d %% of those that are gone may be of the newer half, and %d %% not of the older third", test.half, test.wrong)
			}
			if st.Bytes > limit/3*2 || gone < test.n/3 || gone > test.n/3+8 || st.Entries != int64(test.n-gone) {
				t.Errorf("account %+v of %d; %d of %d are gone", st, limit, gone, test.n)
			}
			wantClean(t, s)
		})
	}
}

// TestFutureUseIsNow: what a clock noted that was ahead is neither old nor kept
// for ever.
func TestFutureUseIsNow(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{LRU, Cost} {
		c := newClock()
		s := open(t, func(o *Options) { o.Now, o.Policy = c.now, policy })
		e := putAged(t, s, c, 1000, 3)
		for _, future := range e[:2] {
			setMtime(t, binPath(s, future.Key), c.now().Add(50*365*24*time.Hour))
		}
		c.add(-time.Minute)
		r, err := s.GC(bg, GCOptions{MaxAge: 30 * time.Minute}, nil)
		must(t, err)
		if r.Removed != 1 || exists(binPath(s, e[2].Key)) {
			t.Errorf("%v: %+v; want the one of an hour ago removed", policy, r)
		}
		put(t, s, e[2], store.Stored)
		setMtime(t, binPath(s, e[2].Key), c.now().Add(-time.Hour))
		r, err = s.GC(bg, GCOptions{MaxSize: 2*each + 1}, nil)
		must(t, err)
		if r.Removed != 1 || exists(binPath(s, e[2].Key)) {
			t.Errorf("%v: %+v; want the one that was not used for longest removed", policy, r)
		}
		r, err = s.GC(bg, GCOptions{MaxSize: each}, nil)
		must(t, err)
		if r.Removed != 1 {
			t.Errorf("%v: %+v; want one of the two removed", policy, r)
		}
	}
}
