package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/storetest"
)

// namesIn lists a directory; nil where there is none.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// A build lock makes no more of a root than it needs, Prepare all that a put will need, and
// Abort undoes what is of the program alone.
func TestPrepare(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	s := open(t, func(o *Options) { o.Dir = dir })
	e := storetest.New(t, "e", 100)
	unlock, err := s.Lock(bg, e.Key, 0)
	must(t, err)
	defer unlock()
	if d := cmp.Diff([]string{".meta"}, namesIn(t, dir)); d != "" {
		t.Errorf("after a lock (-want +got):\n%s", d)
	}
	names := s.at.Names(e.Key)
	always := []string{".meta", "CACHEDIR.TAG", "VERSION"}
	withDevice := append(slices.Clone(always), names[componentDevice])
	slices.Sort(withDevice)
	for range 2 {
		if s.Prepare(bg, e.Recipe, false) {
			t.Error("made something of the program")
		}
		if d := cmp.Diff(withDevice, namesIn(t, dir)); d != "" {
			t.Errorf("prepared (-want +got):\n%s", d)
		}
		if in := namesIn(t, filepath.Join(dir, names[componentDevice])); len(in) != 0 {
			t.Errorf("in the directory of the device: %v", in)
		}
	}
	leaf := filepath.Join(dir, names.Path())
	for range 2 {
		if !s.Prepare(bg, e.Recipe, true) || s.Prepare(bg, e.Recipe, true) {
			t.Error("did not make the program's directories, or made them twice")
		}
		if d := cmp.Diff([]string{"0.src"}, namesIn(t, leaf)); d != "" {
			t.Errorf("of the program (-want +got):\n%s", d)
		}
		wantMiss(t, s, e.Key, reason.MissAbsent)
		wantAccount(t, s, 3*block, 0)
		s.Abort(bg, e.Recipe)
		if d := cmp.Diff(always, namesIn(t, dir)); d != "" {
			t.Errorf("aborted (-want +got):\n%s", d)
		}
		wantAccount(t, s, 0, 0)
	}

	s.Prepare(bg, e.Recipe, true)
	src, err := os.Stat(filepath.Join(leaf, "0.src"))
	must(t, err)
	put(t, s, e, store.Stored)
	if after, err := os.Stat(filepath.Join(leaf, "0.src")); err != nil || !os.SameFile(src, after) {
		t.Errorf("the recipe was written twice: %v", err)
	}
	wantHit(t, s, e)
	wantClean(t, s)
	wantAccount(t, s, 5*block, 1) // and two files
	s.Abort(bg, e.Recipe)         // too late
	wantHit(t, s, e)
	wantAccount(t, s, 5*block, 1)
}

// What was prepared is no good to who finds something else there: a put writes its
// recipe as if nothing was.
func TestPreparedIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"other contents": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)-1]++
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"truncated": func(path string) error { return os.Truncate(path, 10) },
		"removed":   os.Remove,
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".other"), os.Symlink(path+".other", path))
		},
		"writable by others": func(path string) error { return os.Chmod(path, 0o666) },
		"all gone":           func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e := storetest.New(t, "e", 100)
			s.Prepare(bg, e.Recipe, true)
			must(t, change(srcPath(s, e.Key)))
			put(t, s, e, store.Stored)
			wantHit(t, s, e)
			info, err := os.Lstat(srcPath(s, e.Key))
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			_ = os.Remove(srcPath(s, e.Key) + ".other")
			wantClean(t, s)
		})
	}
}

// Of a process that is killed meanwhile, gc removes what is an hour old.
func TestPreparedByTheKilled(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 100)
	s.Prepare(bg, e.Recipe, true)
	for _, want := range []struct {
		after time.Duration
		there bool
	}{{0, true}, {orphanAge + time.Minute, false}} {
		c.add(want.after)
		_, err := s.GC(bg, GCOptions{}, nil)
		must(t, err)
		if exists(srcPath(s, e.Key)) != want.there {
			t.Errorf("after %v", want.after)
		}
	}
	wantAccount(t, s, 0, 0)
}

// Of many who prepare, put, abort and delete the same nobody takes away what another
// one uses, and the account is exact.
func TestPreparedByMany(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, storetest.New(t, "stays", 100), store.Stored) // else who opens an empty root counts
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			one := New(s.o)
			defer one.Close()
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			for range 150 {
				e := storetest.New(t, fmt.Sprint("e", rnd.IntN(3)), 100)
				one.Prepare(bg, e.Recipe, rnd.IntN(4) > 0)
				switch rnd.IntN(4) {
				case 0:
					one.Abort(bg, e.Recipe)
				case 1:
					if res, err := one.Put(bg, e); err != nil {
						t.Errorf("put: %d, %v", res, err)
					}
					one.Abort(bg, e.Recipe) // too late
				case 2:
					if err := one.Delete(bg, e.Key); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range 3 {
		s.Abort(bg, storetest.New(t, fmt.Sprint("e", i), 100).Recipe)
	}
	r := wantClean(t, s)
	if st := s.Status(); st.Bytes != r.Bytes || st.Entries != r.Entries || r.LostRecipes > 0 {
		t.Errorf("the account has %+v, there are %+v", st, r)
	}
}

// Where nothing can be made, or is to be, nothing is.
func TestPrepareMakesNothing(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(bg)
	cancel()
	e := storetest.New(t, "e", 100)
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*Options)
	}{
		"read-only": {bg, func(o *Options) { o.ReadOnly = true }},
		"canceled":  {canceled, func(*Options) {}},
	} {
		dir := filepath.Join(t.TempDir(), "root")
		s := open(t, func(o *Options) { o.Dir = dir; c.change(o) })
		s.Prepare(c.ctx, e.Recipe, true)
		if in := namesIn(t, filepath.Dir(dir)); len(in) != 0 {
			t.Errorf("%s: made %v", name, in)
		}
	}
	file := filepath.Join(t.TempDir(), "root")
	must(t, os.WriteFile(file, []byte("somebody's"), 0o600))
	s := open(t, func(o *Options) { o.Dir = file })
	s.Prepare(bg, e.Recipe, true)
	if b, err := os.ReadFile(file); err != nil || string(b) != "somebody's" {
		t.Errorf("%q, %v", b, err)
	}
	full := open(t, func(o *Options) { o.MaxSize = 1 })
	r, err := full.at.Acquire(true)
	must(t, err)
	defer r.Release()
	m, err := r.Meta()
	must(t, err)
	full.at.AccountAdd(m, evict.ShardOf(full.at.Names(e.Key)[1]), evict.Usage{Bytes: 2})
	full.Prepare(bg, e.Recipe, true)
	if in := namesIn(t, filepath.Join(full.o.Dir, full.at.Names(e.Key)[componentDevice])); len(in) != 0 {
		t.Errorf("over the limit: made %v", in)
	}
}

func wantAccount(t *testing.T, s *Store, bytes, entries int64) {
	t.Helper()
	if st := s.Status(); st.Bytes != bytes || st.Entries != entries {
		t.Errorf("the account has %d bytes and %d entries, want %d and %d", st.Bytes, st.Entries, bytes, entries)
	}
}
