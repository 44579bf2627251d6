package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// What a killed writer left is no good to whoever finds something else there: a put writes its
// recipe as if nothing was.
func TestLeftByTheKilledIsNotTrusted(t *testing.T) {
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
			leaveRecipe(t, s, e.Recipe)
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

// Of what a writer left that was killed, gc removes what is an hour old.
func TestLeftByTheKilled(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 100)
	leaveRecipe(t, s, e.Recipe)
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

func wantAccount(t *testing.T, s *Store, bytes, entries int64) {
	t.Helper()
	if st := s.Status(); st.Bytes != bytes || st.Entries != entries {
		t.Errorf("the account has %d bytes and %d entries, want %d and %d", st.Bytes, st.Entries, bytes, entries)
	}
}

// leaveRecipe leaves what a writer does that is killed between its two files.
func leaveRecipe(t *testing.T, s *Store, rec *key.Recipe) {
	t.Helper()
	src, err := format.EncodeSrc(rec)
	must(t, err)
	must(t, s.at.Write(bg, func(r *rootdir.Root, m *rootdir.Meta) error {
		names := s.at.Names(rec.Key())
		leaf, _, made, err := rootdir.MakeLeaf(r.Dir, names)
		if err != nil {
			return err
		}
		defer leaf.Close()
		s.at.AccountAdd(m, evict.ShardOf(names[1]), rootdir.Directories(made))
		return leaf.Publish(m.Tmp, rootdir.SrcName(0), true, s.at.NowNanos(), src)
	}))
}
