//go:build linux

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestHoldNeverLeavesItsRoot: a root that was removed is not made anew, nor is another one
// at its path written to; the store that held it goes on as ever.
func TestHoldNeverLeavesItsRoot(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(dir string) error{
		"the root":  os.RemoveAll,
		"its .meta": func(dir string) error { return os.RemoveAll(filepath.Join(dir, rootdir.MetaDir)) },
	} {
		for _, anew := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", and made anew"}[anew], func(t *testing.T) {
				t.Parallel()
				s := open(t)
				held, err := s.Hold()
				must(t, err)
				t.Cleanup(func() { held.Close() })
				must(t, held.PutNote(bg, WorkerNote, []byte("one")))
				if b, _, err := s.ReadNote(WorkerNote); err != nil || string(b) != "one" {
					t.Fatalf("note %q, %v", b, err)
				}
				must(t, remove(s.o.Dir))
				if anew {
					must(t, open(t, func(o *Options) { o.Dir = s.o.Dir }).PutNote(bg, StopNote, nil))
				}
				for what, err := range map[string]error{
					"note": held.PutNote(bg, WorkerNote, []byte("two")),
					"lock": second(held.LockWorker(bg)),
					"dir":  second(held.WorkDir(bg)),
					"job":  second(held.SpoolPut(bg, spoolDirName, spoolName, func() ([]byte, error) { return []byte("x"), nil })),
				} {
					if !errors.Is(err, ErrOff) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if exists(filepath.Join(s.o.Dir, rootdir.MetaDir)) != anew || exists(filepath.Join(s.o.Dir, rootdir.MetaDir, string(WorkerNote))) {
					t.Error("something was written")
				}
				put(t, s, storetest.New(t, "e", 100), store.Stored)
			})
		}
	}
}

// TestHoldOfALayer: nothing is made there.
func TestHoldOfALayer(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.ReadOnly = true })
	if _, err := s.Hold(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if exists(s.o.Dir) {
		t.Error("it was made")
	}
}

func second[T any](_ T, err error) error { return err }
