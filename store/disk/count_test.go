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
	"time"

	"github.com/kernstash/kernstash/store"
)

// TestLostAccountAndShortPrograms: programs of which none has the time to count a
// quarter of a root make the account right, together, and know about how much
// there is long before.
func TestLostAccountAndShortPrograms(t *testing.T) {
	t.Parallel()
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
			s.evictor.Hurry() // as Close does when it has waited
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
}

// TestPutBetweenListAndCount: what is put after a shard's images were listed, and
// before they are counted, stays in the account.
func TestPutBetweenListAndCount(t *testing.T) {
	t.Parallel()
	var once sync.Once
	late := make(map[string]*store.Entry)
	c := newClock()
	s := open(t, func(o *Options) {
		o.Now = c.now
		o.hooks.counted = func(s *Store) {
			once.Do(func() {
				for _, e := range late {
					put(t, s, e, store.Stored)
				}
			})
		}
	})
	for i := range 20 {
		put(t, s, sized(t, s, fmt.Sprint(i), 1000), store.Stored)
		late[fmt.Sprint("late", i)] = sized(t, s, fmt.Sprint("late", i), 1000)
	}
	c.add(25 * time.Hour)
	evictNow(s)
	if st := s.Status(); st.Entries != 40 || st.Bytes != 40*each {
		t.Errorf("account %+v, want 40 entries", st)
	}
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
