package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

var bg = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, s *Store, e *store.Entry, want store.PutResult) {
	t.Helper()
	if got, err := s.Put(bg, e); err != nil || got != want {
		t.Fatalf("put: result %d, error %v; want result %d", got, err, want)
	}
}

func wantHit(t testing.TB, s *Store, e *store.Entry) {
	t.Helper()
	got, err := s.Get(bg, e.Key)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	if string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
		t.Fatal("get: other code")
	}
}

func wantMiss(t testing.TB, s *Store, k key.Key, why reason.Reason) {
	t.Helper()
	_, err := s.Get(bg, k)
	var m *store.MissError
	if !errors.As(err, &m) {
		t.Fatalf("get: %v, want a miss", err)
	}
	if m.Reason != why {
		t.Fatalf("miss: %v (%v), want %v", m.Reason, err, why)
	}
}

func wantClean(t testing.TB, s *Store) Report {
	t.Helper()
	r, err := s.Verify(bg, false, nil)
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("verify: %v, problems %v", err, r.Problems)
	}
	return r
}

// binPath and srcPath are where entry 0 of a key is.
func binPath(s *Store, k key.Key) string {
	return filepath.Join(s.o.Dir, s.at.Names(k).Path(), rootdir.BinName(0))
}

func srcPath(s *Store, k key.Key) string {
	return strings.TrimSuffix(binPath(s, k), binSuffix) + srcSuffix
}

func setMtime(t testing.TB, path string, at time.Time) {
	t.Helper()
	must(t, os.Chtimes(path, at, at))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// settled waits until no evictor runs.
func settled(s *Store) { s.evictor.Wait() }

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// each is what a small entry takes that is alone in its directories: two files
// and three directories, a block each.
const each = 5 * block

// victims returns what can be evicted, in no order.
func (s *Store) victims() ([]evict.Victim, error) {
	var found []evict.Victim
	err := s.withRoot(func(root *evictable) error {
		walk, err := root.List(bg, evict.OpenBooks(root.m.Account, false, s.o.Now, s.o.Trace).Order())
		if err != nil {
			return err
		}
		for shard := range evict.Shards {
			if _, err := walk(bg, shard, evict.Slice{}, func(f evict.Found) {
				if f.Removable && !f.Victim.Other {
					found = append(found, f.Victim)
				}
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// evictThese evicts what it is given.
func (s *Store) evictThese(victims []evict.Victim) error {
	return s.withRoot(func(root *evictable) error {
		for i := range victims {
			v := &victims[i]
			if u, gone := root.Remove(bg, v, false); gone {
				s.at.AccountAdd(root.m, int(v.Names[1][0]), evict.Usage{}.Minus(u))
			}
		}
		return nil
	})
}

func (s *Store) withRoot(f func(root *evictable) error) error {
	r, err := s.at.Acquire(false)
	if err != nil {
		return err
	}
	defer r.Release()
	m, err := r.Meta()
	if err != nil {
		return err
	}
	return f(&evictable{s: s, r: r, m: m})
}

// sized returns an entry that takes exactly size bytes on disk.
func sized(t testing.TB, s *Store, seed string, size int) *store.Entry {
	t.Helper()
	e := storetest.New(t, seed, 100)
	w := &writer{s: s, e: e, names: s.at.Names(e.Key)}
	must(t, w.encode())
	return storetest.New(t, seed, 100+size-int(w.size()))
}

// giveAway makes a file belong to user 12345.
func giveAway(t testing.TB, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give a file to another user")
	}
	must(t, os.Chown(path, 12345, 12345))
}
