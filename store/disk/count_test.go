//go:build linux

package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestLostAccountAndShortPrograms: programs of which none has the time to count a
// quarter of a root make the account right, together, and know about how much
// there is long before.
func TestLostAccountAndShortPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const entries = 200
		look := open(t)
		for i := range entries {
			put(t, look, sized(t, look, fmt.Sprint("old", i), 1000), store.Stored)
		}
		want := look.Status()
		must(t, os.Remove(filepath.Join(look.o.Dir, ".meta/account")))
		o := look.o
		c := newClock()
		o.Now = c.now
		var leaves atomic.Int64
		o.hooks.counted = func(s *Store) {
			if leaves.Add(1)%50 == 0 {
				time.Sleep(closeWait / 4 * 3) // until Close has waited for half of its time
			}
		}
		e := sized(t, look, "new", 1000)
		got := look.Status()
		right := func() bool {
			got = look.Status()
			got.CountedAt = want.CountedAt
			return got == want
		}
		for i := 0; i < 60 && !right(); i++ {
			s := New(o)
			if _, err := s.Put(bg, e); err != nil {
				t.Fatal(err)
			}
			must(t, s.Delete(bg, e.Key))
			must(t, s.Close())
			c.add(2 * time.Hour)
			if st := look.Status(); i == 1 && (st.Entries < entries/4 || st.Entries > entries*4) {
				t.Errorf("%d entries are there, and %d are guessed", entries, st.Entries)
			}
		}
		if !right() {
			t.Errorf("account %+v, want %+v", got, want)
		}
	})
}

// TestPutBetweenListAndCount: what is put after a shard's images were listed, and
// before they are counted, stays in the account: also where that is corrected in between.
func TestPutBetweenListAndCount(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(h *hooks){
		"one list":       func(*hooks) {},
		"shard by shard": func(h *hooks) { h.bounds.Together = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 40
			var once sync.Once
			late := make(map[string]*store.Entry)
			c := newClock()
			s := open(t, func(o *Options) {
				o.Now = c.now
				set(&o.hooks)
				o.hooks.counted = func(s *Store) {
					once.Do(func() {
						for _, e := range late {
							put(t, s, e, store.Stored)
						}
					})
				}
			})
			for i := range n {
				put(t, s, sized(t, s, fmt.Sprint(i), 1000), store.Stored)
				late[fmt.Sprint("late", i)] = sized(t, s, fmt.Sprint("late", i), 1000)
			}
			c.add(25 * time.Hour)
			evictNow(s)
			if st := s.Status(); st.Entries != 2*n || st.Bytes != 2*n*each {
				t.Errorf("account %+v, want %d entries", st, 2*n)
			}
		})
	}
}

// TestSlicesOfAShard: each entry is in one slice, about as many in each, and what is in a
// slice takes what removing it would free.
func TestSlicesOfAShard(t *testing.T) {
	t.Parallel()
	const n, of = 120, 4
	s := open(t)
	shard := 0
	for i := range n {
		rec := storetest.Recipe(t, "kernel void k() {}", "")
		var err error
		rec.Constants, err = key.NewConstants(key.SpecConstant{ID: uint32(i), Value: []byte{1, 2, 3, 4}})
		must(t, err)
		put(t, s, storetest.Entry(rec, "e", 1000), store.Stored)
		shard = evict.ShardOf(s.at.Names(rec.Key())[1])
	}
	settled(s)
	must(t, s.withRoot(func(root *evictable) error {
		walk, err := root.List(bg, []int{shard})
		must(t, err)
		entries := 0
		for i := range of {
			var in, freed evict.Usage
			if _, err := walk(bg, shard, evict.Slice{Index: i, Of: of}, func(f evict.Found) {
				in = in.Plus(f.Account)
				if f.Victim.Entry {
					freed = freed.Plus(evict.Usage{Bytes: f.Victim.Size, Entries: 1})
				}
			}); err != nil {
				return err
			}
			// A victim's size has the directory of its constants, too, in which it is alone.
			if in.Entries != freed.Entries || in.Bytes != freed.Bytes-in.Entries*block || in.Entries < n/of/2 {
				t.Errorf("slice %d: %+v, of which %+v can be freed", i, in, freed)
			}
			entries += int(in.Entries)
		}
		if entries != n {
			t.Errorf("%d entries are in slices, of %d", entries, n)
		}
		return nil
	}))
}

// TestEndOfCountsUnderLoad: whatever is put while counts go on, and however many
// of them, the account is exact in the end.
func TestEndOfCountsUnderLoad(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, sized(t, s, "first", 1000), store.Stored)
	ctx, cancel := context.WithCancel(bg)
	counts := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			if _, err := s.GC(ctx, GCOptions{}, nil); err != nil && ctx.Err() == nil {
				t.Errorf("gc: %v", err)
			}
		}
		counts <- n
	}()
	for i := range 300 {
		e := sized(t, s, fmt.Sprint(i), 1000)
		put(t, s, e, store.Stored)
		if i%3 == 0 {
			must(t, s.Delete(bg, e.Key))
		}
	}
	cancel()
	if n := <-counts; n < 2 {
		t.Errorf("%d counts: nothing was tried", n)
	}
	_, err := s.GC(bg, GCOptions{}, nil)
	must(t, err)
	if st, r := s.Status(), wantClean(t, s); st.Bytes != r.Bytes || st.Entries != r.Entries || r.Entries != 201 {
		t.Errorf("account %+v; there are %d bytes, %d entries", st, r.Bytes, r.Entries)
	}
}
