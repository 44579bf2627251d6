//go:build linux

package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// foreign puts files that are not ours wherever a sweep looks, and returns
// their paths.
func foreign(t *testing.T, s *Store, e *store.Entry) []string {
	t.Helper()
	leaf := filepath.Dir(binPath(s, e.Key))
	paths := []string{
		filepath.Join(s.o.Dir, "README"),
		filepath.Join(s.o.Dir, "notes", "0.bin"),
		filepath.Join(s.o.Dir, "00112233445566778899AABBCCDDEEFF", "0.bin"),
		filepath.Join(filepath.Dir(leaf), "0.bin"),
		filepath.Join(leaf, "00.bin"),
		filepath.Join(leaf, "0.bin.bak"),
		filepath.Join(leaf, "x.src"),
		filepath.Join(leaf, "sub", "0.bin"),
	}
	for _, p := range paths {
		must(t, os.MkdirAll(filepath.Dir(p), 0o700))
		must(t, os.WriteFile(p, []byte("mine"), 0o600))
		setMtime(t, p, time.Unix(1, 0))
	}
	return paths
}

// TestSweepsTouchOnlyWhatIsOurs: whatever Clear, GC, Verify and the evictor
// do, files that they do not know stay.
func TestSweepsTouchOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	for name, sweep := range map[string]func(s *Store) error{
		"clear":  func(s *Store) error { _, err := s.Clear(bg, nil, nil); return err },
		"gc":     func(s *Store) error { _, err := s.GC(bg, GCOptions{MaxAge: 1, MaxSize: 1}, nil); return err },
		"verify": func(s *Store) error { _, err := s.Verify(bg, true, nil); return err },
		"evict":  func(s *Store) error { return s.evictAll() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e := storetest.New(t, "e", 100)
			put(t, s, e, store.Stored)
			paths := foreign(t, s, e)
			must(t, sweep(s))
			for _, p := range paths {
				if !exists(p) {
					t.Errorf("%s was removed", p)
				}
			}
			if name == "verify" {
				wantHit(t, s, e)
			} else {
				wantMiss(t, s, e.Key, reason.MissAbsent)
			}
		})
	}
}

func TestGCRemovesByAge(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := putAged(t, s, c, 1000, 5) // 5, 4, 3, 2, 1 hours ago
	wantHit(t, s, e[0])
	o := GCOptions{MaxAge: 3*time.Hour + time.Minute, DryRun: true}
	r, err := s.GC(bg, o, nil)
	must(t, err)
	if r.Entries != 5 || r.Removed != 1 || r.RemovedBytes != each {
		t.Errorf("dry run: %+v, want one of five removed", r)
	}
	wantClean(t, s)
	o.DryRun = false
	var last int64
	r, err = s.GC(bg, o, func(done int64) { last = done })
	must(t, err)
	if r.Removed != 1 || r.EmptyDirs != 3 || last != 5 {
		t.Errorf("%+v, progress %d; want one entry and its three directories removed", r, last)
	}
	wantMiss(t, s, e[1].Key, reason.MissAbsent)
	for _, i := range []int{0, 2, 3, 4} {
		wantHit(t, s, e[i])
	}
	if st := s.Status(); st.Bytes != 4*each || st.Entries != 4 {
		t.Errorf("account %+v", st)
	}
}

func TestGCRemovesBySize(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := putAged(t, s, c, 1000, 5)
	for _, dry := range []bool{true, false} {
		r, err := s.GC(bg, GCOptions{MaxSize: each * 5 / 2, DryRun: dry}, nil)
		must(t, err)
		if r.Removed != 3 || r.RemovedBytes != 3*each {
			t.Errorf("dry run %v: %+v, want three removed", dry, r)
		}
	}
	for i, entry := range e {
		if i < 3 {
			wantMiss(t, s, entry.Key, reason.MissAbsent)
		} else {
			wantHit(t, s, entry)
		}
	}
	if st := s.Status(); st.Bytes != 2*each || st.Entries != 2 || !st.Counted {
		t.Errorf("account %+v", st)
	}
}

// TestGCRemovesWhatIsLeftBehind: damaged entries, orphans and temporary files
// that are old, also of another version, empty directories; and what is young
// stays, since its writer may live.
func TestGCRemovesWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := open(t)
	bad, orphan, young := storetest.New(t, "bad", 100), storetest.New(t, "orphan", 100), storetest.New(t, "young", 100)
	other := storetest.New(t, "other version", 100)
	for _, e := range []*store.Entry{bad, orphan, young, other} {
		put(t, s, e, store.Stored)
	}
	must(t, os.Truncate(binPath(s, bad.Key), 99))
	must(t, os.Remove(binPath(s, orphan.Key)))
	must(t, os.Remove(binPath(s, young.Key)))
	long := time.Now().Add(-2 * time.Hour)
	setMtime(t, srcPath(s, orphan.Key), long)
	b, err := os.ReadFile(binPath(s, other.Key))
	must(t, err)
	b[8] = format.Version + 1
	must(t, os.WriteFile(binPath(s, other.Key), b, 0o600))
	setMtime(t, binPath(s, other.Key), long)
	tmp := filepath.Join(s.o.Dir, ".meta", "tmp")
	for _, name := range []string{"put.1.2", "later-version"} {
		must(t, os.WriteFile(filepath.Join(tmp, name), nil, 0o600))
		setMtime(t, filepath.Join(tmp, name), long)
	}
	must(t, os.WriteFile(filepath.Join(tmp, "put.3.4"), nil, 0o600))
	order := filepath.Join(s.o.Dir, ".meta", "order") // of earlier versions
	must(t, os.WriteFile(order, nil, 0o600))
	empty := filepath.Join(s.o.Dir, collide(bad.Key)[0])
	must(t, os.MkdirAll(filepath.Join(empty, collide(bad.Key)[0]), 0o700))
	setMtime(t, filepath.Join(empty, collide(bad.Key)[0]), long)
	justNow := filepath.Join(s.o.Dir, strings.Repeat("0", 32))
	must(t, os.Mkdir(justNow, 0o700))

	for _, dry := range []bool{true, false} {
		r, err := s.GC(bg, GCOptions{MaxAge: time.Hour, DryRun: dry}, nil)
		must(t, err)
		if r.Damaged != 1 || r.Orphans != 1 || r.OtherVersions != 1 || r.Temporary != 2 || r.Removed != 2 || exists(order) != dry {
			t.Errorf("dry run %v: %+v, order is there: %v", dry, r, exists(order))
		}
	}
	for path, want := range map[string]bool{
		binPath(s, bad.Key): false, srcPath(s, bad.Key): false, srcPath(s, orphan.Key): false,
		binPath(s, other.Key): false, srcPath(s, young.Key): true,
		filepath.Join(tmp, "put.1.2"): false, filepath.Join(tmp, "later-version"): false, filepath.Join(tmp, "put.3.4"): true,
		empty: false, justNow: true,
	} {
		if exists(path) != want {
			t.Errorf("%s: there %v, want %v", path, !want, want)
		}
	}
	r := wantClean(t, s)
	if st := s.Status(); st.Entries != 0 || st.Bytes != r.Bytes {
		t.Errorf("account %+v, there are %+v", st, r)
	}
}

func TestVerifyFindsAndRepairs(t *testing.T) {
	t.Parallel()
	s := open(t)
	var e []*store.Entry
	for _, seed := range []string{"good", "code", "recipe", "wrong recipe", "orphan"} {
		e = append(e, storetest.New(t, seed, 5000))
		put(t, s, e[len(e)-1], store.Stored)
	}
	flip(-1)(t, binPath(s, e[1].Key))
	flip(-1)(t, srcPath(s, e[2].Key))
	b, err := os.ReadFile(srcPath(s, e[0].Key))
	must(t, err)
	must(t, os.WriteFile(srcPath(s, e[3].Key), b, 0o600))
	must(t, os.Remove(binPath(s, e[4].Key)))
	setMtime(t, srcPath(s, e[4].Key), time.Now().Add(-2*time.Hour))
	for _, repair := range []bool{false, true} {
		r, err := s.Verify(bg, repair, nil)
		must(t, err)
		if r.Entries != 4 || r.Damaged != 1 || r.LostRecipes != 2 || r.Orphans != 1 || len(r.Problems) != 4 {
			t.Errorf("repair %v: %+v", repair, r)
		}
		for _, p := range r.Problems {
			if p.Repaired != repair || p.Err == nil || p.Location == "" {
				t.Errorf("repair %v: %+v", repair, p)
			}
		}
		if want := map[bool]int64{true: 1}[repair]; r.Removed != want {
			t.Errorf("repair %v: %d removed, want %d", repair, r.Removed, want)
		}
	}
	wantHit(t, s, e[0])
	wantMiss(t, s, e[1].Key, reason.MissAbsent)
	wantHit(t, s, e[2])
	wantHit(t, s, e[3])
	r, err := s.Verify(bg, false, nil)
	must(t, err)
	if st := s.Status(); st.Bytes != r.Bytes || st.Entries != 3 {
		t.Errorf("account %+v, there are %+v", st, r)
	}
}

// TestSweepsLeaveWritersTheirDirectories: a put finds the directories that it made,
// however often sweeps run while it makes them.
func TestSweepsLeaveWritersTheirDirectories(t *testing.T) {
	t.Parallel()
	for name, sweep := range map[string]func(s *Store) (Report, error){
		"gc":    func(s *Store) (Report, error) { return s.GC(bg, GCOptions{MaxAge: time.Hour}, nil) },
		"clear": func(s *Store) (Report, error) { return s.Clear(bg, func(store.Info) bool { return false }, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var other *Store
			made := 0
			s := open(t, func(o *Options) {
				other = New(*o)
				o.hooks.Beneath.Hook = &safefs.Hook{Before: func(op safefs.Op, size int) (int, error) {
					if op == safefs.OpCreate || op == safefs.OpMkdir || op == safefs.OpOpenat2 {
						made++
						if _, err := sweep(other); err != nil {
							t.Error(err)
						}
					}
					return size, nil
				}}
			})
			defer other.Close()
			e := storetest.New(t, "e", 100)
			e.Headers = map[key.Digest][]byte{sha256.Sum256([]byte("header")): []byte("header")}
			put(t, s, e, store.Stored)
			must(t, s.PutBlob(bg, store.Manifests, e.Key.Sum, []byte("manifest")))
			_, err := s.SpoolPut(bg, strings.Repeat("0", 32), strings.Repeat("1", 32)+".job", func() ([]byte, error) { return []byte("job"), nil })
			must(t, err)
			if made == 0 {
				t.Error("no sweep ran")
			}
			wantHit(t, s, e)
		})
	}
}

func TestClearWithAFilter(t *testing.T) {
	t.Parallel()
	s := open(t)
	keep, drop := storetest.New(t, "keep", 100), storetest.New(t, "drop", 100)
	drop.Recipe.Device.Driver = "0.9"
	drop.Key = drop.Recipe.Key()
	put(t, s, keep, store.Stored)
	put(t, s, drop, store.Stored)
	must(t, s.AddStats(oneHit()))
	r, err := s.Clear(bg, func(i store.Info) bool { return i.Device.Driver == "0.9" }, nil)
	if err != nil || r.Removed != 1 || r.EmptyDirs != 4 {
		t.Errorf("clear: %+v, %v", r, err)
	}
	wantHit(t, s, keep)
	wantMiss(t, s, drop.Key, reason.MissAbsent)
	if st := s.Status(); st.Entries != 1 {
		t.Errorf("account %+v", st)
	}
	r, err = s.Clear(bg, nil, nil)
	if err != nil || r.Removed != 1 {
		t.Errorf("clear: %+v, %v", r, err)
	}
	if st := s.Status(); st.Entries != 0 || st.Bytes != 0 {
		t.Errorf("account %+v", st)
	}
	if got, err := s.Stats(); err != nil || got != oneHit() {
		t.Errorf("statistics after clear: %v, %v", got, err)
	}
	put(t, s, keep, store.Stored)
	wantHit(t, s, keep)
}

// TestSweepsOfNothing: an absent root is empty, not an error (NEO), and stays
// absent.
func TestSweepsOfNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	for op, run := range map[string]func() (Report, error){
		"verify": func() (Report, error) { return s.Verify(bg, true, nil) },
		"gc":     func() (Report, error) { return s.GC(bg, GCOptions{MaxAge: 1}, nil) },
		"clear":  func() (Report, error) { return s.Clear(bg, nil, nil) },
	} {
		if r, err := run(); err != nil || r.Entries != 0 {
			t.Errorf("%s: %+v, %v", op, r, err)
		}
	}
	if n := len(mustList(t, s)); n != 0 || exists(s.o.Dir) {
		t.Errorf("%d listed, root there: %v", n, exists(s.o.Dir))
	}
	if st := s.Status(); !st.On || st.Exists {
		t.Errorf("status %+v", st)
	}
}

func TestSweepsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, storetest.New(t, "e", 100), store.Stored)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for op, err := range map[string]error{
		"verify": func() error { _, err := s.Verify(ctx, false, nil); return err }(),
		"repair": func() error { _, err := s.Verify(ctx, true, nil); return err }(),
		"gc":     func() error { _, err := s.GC(ctx, GCOptions{}, nil); return err }(),
		"clear":  func() error { _, err := s.Clear(ctx, nil, nil); return err }(),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's error", op, err)
		}
	}
}

// TestSweepWaitsOnce: for evictors one after the other it waits no longer than for one.
func TestSweepWaitsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		put(t, s, storetest.New(t, "e", 100), store.Stored)
		settled(s)
		evictor := New(Options{Dir: s.o.Dir})
		defer evictor.Close()
		must(t, evictor.withRoot(func(root *evictable) error {
			for n := range 3 {
				unlock, err := root.Lock(n)
				must(t, err)
				time.AfterFunc(time.Duration(n+1)*sweepWait/4*3, unlock)
			}
			return nil
		}))
		start := time.Now()
		if _, err := s.GC(bg, GCOptions{}, nil); !errors.Is(err, lock.ErrBusy) || time.Since(start) > sweepWait+time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(2 * sweepWait)
		_, err := s.GC(bg, GCOptions{}, nil)
		must(t, err)
	})
}
