//go:build linux

package disk

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store"
)

// there returns which of some entries hit.
func there(s *Store, entries []*store.Entry) (hits []bool) {
	for _, e := range entries {
		_, err := s.Get(bg, e.Key)
		hits = append(hits, err == nil)
	}
	return hits
}

func wantThere(t *testing.T, s *Store, entries []*store.Entry, want ...bool) {
	t.Helper()
	if diff := cmp.Diff(want, there(s, entries)); diff != "" {
		t.Errorf("which are there (-want +got):\n%s", diff)
	}
}

// TestPinned: what another process has pinned is evicted by none, though it would go first, until it is unpinned.
func TestPinned(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.MaxSize, o.Now, o.Policy = 6*each, c.now, LRU })
	entries := putAged(t, s, c, 1000, 6)
	other := New(Options{Dir: s.o.Dir})
	defer other.Close()
	must(t, other.Pin(bg, entries[0].Key))
	must(t, other.Pin(bg, entries[0].Key))
	put(t, s, sized(t, s, "more", 1000), store.Stored) // to two thirds
	settled(s)
	wantThere(t, s, entries, true, false, false, false, true, true)

	// All pinned: nothing goes.
	for _, e := range entries {
		must(t, other.Pin(bg, e.Key))
	}
	must(t, s.evictAll()) // what was put last
	wantThere(t, s, entries, true, false, false, false, true, true)
	c.add(1000 * time.Hour)
	r, err := s.GC(bg, GCOptions{MaxAge: time.Hour, MaxSize: 1}, nil)
	if err != nil || r.Entries != 3 || r.Removed != 0 {
		t.Errorf("gc: %+v, %v", r, err)
	}
	wantThere(t, s, entries, true, false, false, false, true, true)

	pins, err := s.Pins(bg)
	if err != nil || len(pins) != len(entries) {
		t.Errorf("pins: %v, %v", pins, err)
	}
	for path, k := range pins {
		if k != entries[0].Key.String() {
			must(t, s.Unpin(bg, path))
			must(t, s.Unpin(bg, path))
		}
	}
	must(t, s.evictAll())
	wantThere(t, s, entries, true, false, false, false, false, false)
	wantClean(t, s)
}

// TestPinnedMeanwhile: an entry that is pinned after an evictor has chosen it stays.
func TestPinnedMeanwhile(t *testing.T) {
	t.Parallel()
	s := open(t)
	entries := putAged(t, s, newClock(), 1000, 2)
	all, err := s.victims()
	must(t, err)
	must(t, s.Pin(bg, entries[0].Key))
	must(t, s.evictThese(all))
	wantThere(t, s, entries, true, false)
	if err := New(Options{Dir: s.o.Dir, ReadOnly: true}).Pin(bg, entries[1].Key); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("pin in a read-only layer: %v", err)
	}
}

// TestPinnedAndDamaged: GC removes a damaged entry though it is pinned, and the pin is of the next one.
func TestPinnedAndDamaged(t *testing.T) {
	t.Parallel()
	s := open(t)
	entries := putAged(t, s, newClock(), 1000, 1)
	must(t, s.Pin(bg, entries[0].Key))
	must(t, os.Truncate(binPath(s, entries[0].Key), 99))
	r, err := s.GC(bg, GCOptions{DryRun: true, MaxSize: 1}, nil)
	if err != nil || r.Removed != 1 || r.Damaged != 1 {
		t.Errorf("dry run: %+v, %v", r, err)
	}
	if r, err := s.GC(bg, GCOptions{}, nil); err != nil || r.Removed != 1 {
		t.Errorf("gc: %+v, %v", r, err)
	}
	put(t, s, entries[0], store.Stored)
	if r, err := s.GC(bg, GCOptions{DryRun: true, MaxSize: 1}, nil); err != nil || r.Removed != 0 {
		t.Errorf("dry run: %+v, %v", r, err)
	}
	must(t, s.evictAll())
	wantThere(t, s, entries, true)
}
