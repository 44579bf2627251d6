//go:build linux

package disk

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestNoLockFile: with something else in its place everything goes on without
// locks, and the status says so.
func TestNoLockFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":      func(path string) error { return os.Symlink("/dev/null", path) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "kernstash-lock-") // the path of a socket must be short
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			s := New(Options{Dir: dir, MaxSize: 5 * each})
			t.Cleanup(func() { s.Close() })
			must(t, os.Mkdir(filepath.Join(dir, ".meta"), 0o700))
			must(t, make(filepath.Join(dir, ".meta", "locks")))
			e := storetest.New(t, "e", 100)
			put(t, s, e, store.Stored)
			wantHit(t, s, e)
			if _, err := s.Lock(bg, e.Key, 0); !errors.Is(err, lock.ErrUnsupported) || errors.Is(err, store.ErrLocked) {
				t.Errorf("lock: %v, want that there is none", err)
			}
			if _, err := s.GC(bg, GCOptions{}, nil); err != nil {
				t.Error(err)
			}
			if st := s.Status(); !st.On || !strings.Contains(st.Reason, "locks") || st.Entries != 1 {
				t.Errorf("status %+v", st)
			}
			if r, err := s.Clear(bg, nil, nil); err != nil || r.Removed != 1 {
				t.Errorf("clear: %+v, %v", r, err)
			}
			if !exists(filepath.Join(dir, ".meta", "locks")) {
				t.Error("what was there is gone")
			}
		})
	}
}

// TestVerifyNamesWhatIsNoDirectory: it stays, and a person learns of it.
func TestVerifyNamesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	for level := range 4 {
		for name, make := range map[string]func(path string) error{
			"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"link": func(path string) error { return os.Symlink("/", path) },
		} {
			s := open(t)
			e := storetest.New(t, "e", 100)
			put(t, s, e, store.Stored)
			path := filepath.Join(s.o.Dir, rootdir.LeafPrefix(s.at.Names(e.Key), level+1))
			must(t, os.RemoveAll(path))
			must(t, make(path))
			r, err := s.Verify(bg, true, nil)
			must(t, err)
			if len(r.Problems) != 1 || r.Problems[0].Location != rootdir.LeafPrefix(s.at.Names(e.Key), level+1) ||
				r.Problems[0].Err == nil || r.Problems[0].Repaired {
				t.Errorf("%s at level %d: %+v", name, level, r.Problems)
			}
			if !exists(path) {
				t.Errorf("%s at level %d is gone", name, level)
			}
		}
	}
}

// TestRecipeWithAHole: a file that says it is large gets no memory for that.
// It runs alone, since it looks at the memory of the process.
func TestRecipeWithAHole(t *testing.T) {
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	const size = 256 << 20
	b, err := os.ReadFile(srcPath(s, e.Key))
	must(t, err)
	binary.LittleEndian.PutUint64(b[16:], size-format.SrcHeaderBytes)
	must(t, os.WriteFile(srcPath(s, e.Key), b[:format.SrcHeaderBytes], 0o600))
	must(t, os.Truncate(srcPath(s, e.Key), size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = s.Recipe(bg, e.Key)
	runtime.ReadMemStats(&after)
	var m *store.MissError
	if !errors.As(err, &m) || m.Reason != reason.MissDigest {
		t.Errorf("recipe: %v, want a wrong digest", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestLargeRecipe: a good one of more than is read at once is returned.
func TestLargeRecipe(t *testing.T) {
	t.Parallel()
	s := open(t)
	rec := storetest.Recipe(t, strings.Repeat("// long\n", 300_000), "")
	e := storetest.Entry(rec, "e", 100)
	put(t, s, e, store.Stored)
	if rec, err := s.Recipe(bg, e.Key); err != nil || rec.Key() != e.Key {
		t.Errorf("recipe: %v", err)
	}
	wantClean(t, s)
}
