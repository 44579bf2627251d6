//go:build linux

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestCollisionsNeverStopAtAGap: entries of several keys share a directory;
// a number that is gone hides none after it, and is used again.
func TestCollisionsNeverStopAtAGap(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.hooks.Collide = collide })
	var e []*store.Entry
	for i := range 5 {
		e = append(e, storetest.New(t, fmt.Sprint(i), 100+i))
		put(t, s, e[i], store.Stored)
	}
	wantMiss(t, s, storetest.New(t, "other", 1).Key, reason.MissCollision)
	leaf := filepath.Dir(binPath(s, e[0].Key))
	for _, gone := range []int{0, 2} {
		must(t, s.Delete(bg, e[gone].Key))
		if exists(filepath.Join(leaf, rootdir.BinName(uint32(gone)))) {
			t.Errorf("number %d is still there", gone)
		}
	}
	for i, entry := range e {
		if i == 0 || i == 2 {
			wantMiss(t, s, entry.Key, reason.MissCollision)
			continue
		}
		wantHit(t, s, entry)
		if r, err := s.Recipe(bg, entry.Key); err != nil || r.Key() != entry.Key {
			t.Errorf("recipe %d: %v", i, err)
		}
	}
	put(t, s, e[2], store.Stored)
	if !exists(filepath.Join(leaf, "0.bin")) || exists(filepath.Join(leaf, "2.bin")) {
		t.Error("the lowest free number was not used")
	}
	must(t, os.Remove(filepath.Join(leaf, "1.bin")))
	put(t, s, e[4], store.Existing)
	wantHit(t, s, e[3])
	if n := len(mustList(t, s)); n != 3 {
		t.Errorf("%d entries listed, want 3", n)
	}
}

// TestDamageBesideCollisions: a damaged number is replaced, the neighbours are
// not touched, and the reason of the miss is the damage.
func TestDamageBesideCollisions(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.hooks.Collide = collide })
	a, b := storetest.New(t, "a", 100), storetest.New(t, "b", 100)
	put(t, s, a, store.Stored)
	put(t, s, b, store.Stored)
	must(t, os.Truncate(filepath.Join(filepath.Dir(binPath(s, b.Key)), "1.bin"), 33))
	wantMiss(t, s, b.Key, reason.MissTruncated)
	wantHit(t, s, a)
	put(t, s, b, store.Bettered)
	wantHit(t, s, a)
	wantHit(t, s, b)
	wantClean(t, s)
}

// TestMisplacedEntryNeverHits: a file that was moved by hand is not another
// key's entry.
func TestMisplacedEntryNeverHits(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := storetest.New(t, "a", 100), storetest.New(t, "b", 100)
	put(t, s, a, store.Stored)
	put(t, s, b, store.Stored)
	must(t, os.Rename(binPath(s, a.Key), binPath(s, b.Key)))
	wantMiss(t, s, b.Key, reason.MissCollision)
	wantMiss(t, s, a.Key, reason.MissAbsent)
	r, err := s.Verify(bg, true, nil)
	if err != nil || r.Damaged != 1 || r.Removed != 1 {
		t.Errorf("verify: %+v, %v; want the misplaced entry removed", r, err)
	}
	put(t, s, b, store.Stored)
	wantHit(t, s, b)
}
