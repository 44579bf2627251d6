//go:build linux

package disk

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/store"
)

// TestShortProgramsEvict: programs that put one entry and end keep a full
// store usable.
func TestShortProgramsEvict(t *testing.T) {
	t.Parallel()
	const limit, size = 20 * each, 1000
	o := open(t, func(o *Options) { o.MaxSize = limit }).o
	for i := range 100 {
		s := New(o)
		put(t, s, sized(t, s, fmt.Sprint("e", i), size), store.Stored)
		must(t, s.Close())
	}
	s := New(o)
	defer s.Close()
	if r := wantClean(t, s); r.Bytes > limit || r.Bytes < limit/2 {
		t.Errorf("%d bytes are left, the limit is %d", r.Bytes, limit)
	}
}

// TestCountCutShort: where no program has the time to count all, each evicts
// from what it saw, and the account is not corrected by a part.
func TestCountCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, size, entries = 60 * each, 1000, 60
		look := open(t)
		for i := range entries {
			put(t, look, sized(t, look, fmt.Sprint("old", i), size), store.Stored)
		}
		o := look.o
		var leaves atomic.Int64
		o.MaxSize = limit
		o.hooks.counted = func(s *Store) {
			if leaves.Add(1)%10 == 0 {
				time.Sleep(closeWait / 4 * 3) // until Close has waited for half of its time
			}
		}
		for i := range 150 {
			s := New(o)
			put(t, s, sized(t, s, fmt.Sprint("new", i), size), store.Stored)
			must(t, s.Close())
		}
		if r := wantClean(t, look); r.Bytes > limit || r.Bytes < limit/2 {
			t.Errorf("%d bytes are left, the limit is %d", r.Bytes, limit)
		}
		gone := 0
		for i := range entries {
			if !exists(binPath(look, sized(t, look, fmt.Sprint("old", i), size).Key)) {
				gone++
			}
		}
		if gone < entries/2 {
			t.Errorf("%d of %d old entries are gone: the walks see the same part", gone, entries)
		}
		if st, r := look.Status(), wantClean(t, look); st.Bytes != r.Bytes || st.Entries != r.Entries {
			t.Errorf("account %d bytes, %d entries; there are %d and %d", st.Bytes, st.Entries, r.Bytes, r.Entries)
		}
	})
}

// TestStaleAccountAndShortPrograms: programs that have no time to count all that was not
// counted for long make room first, so that what they build is stored.
func TestStaleAccountAndShortPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const entries, programs = 60, 20
		c := newClock()
		look := open(t, func(o *Options) { o.Now = c.now })
		for i := range entries {
			put(t, look, sized(t, look, fmt.Sprint("old", i), 1000), store.Stored)
		}
		settled(look)
		c.add(25 * time.Hour)
		o := look.o
		o.MaxSize = look.Status().Bytes - 1
		var leaves atomic.Int64
		o.hooks.counted = func(s *Store) {
			if leaves.Add(1)%10 == 0 {
				time.Sleep(closeWait / 4 * 3) // until Close has waited for half of its time
			}
		}
		stored := 0
		for i := range programs {
			s := New(o)
			if _, err := s.Put(bg, sized(t, s, fmt.Sprint("new", i), 1000)); err == nil {
				stored++
			} else if !errors.Is(err, store.ErrDropped) {
				t.Error(err)
			}
			must(t, s.Close())
		}
		if stored < programs-2 {
			t.Errorf("%d of %d programs stored what they built", stored, programs)
		}
	})
}
