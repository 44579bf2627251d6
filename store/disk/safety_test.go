//go:build linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestUntrustedRootTurnsTheTierOff: with a reason that says what to do, and
// without touching anything.
func TestUntrustedRootTurnsTheTierOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, dir string)
		want string // in the reason
	}{
		"readable by others": {func(t *testing.T, d string) { must(t, os.Mkdir(d, 0o755)); must(t, os.Chmod(d, 0o755)) }, "chmod 700 "},
		"writable by group":  {func(t *testing.T, d string) { must(t, os.Mkdir(d, 0o700)); must(t, os.Chmod(d, 0o720)) }, "chmod 700 "},
		"of another user":    {func(t *testing.T, d string) { must(t, os.Mkdir(d, 0o700)); giveAway(t, d) }, "belongs to user 12345"},
		"a link": {func(t *testing.T, d string) {
			to := t.TempDir()
			must(t, os.Chmod(to, 0o700))
			must(t, os.Symlink(to, d))
		}, "symbolic link"},
		"a file":       {func(t *testing.T, d string) { must(t, os.WriteFile(d, nil, 0o700)) }, "not a directory"},
		"below a file": {func(t *testing.T, d string) { must(t, os.WriteFile(filepath.Dir(d)+"/file", nil, 0o600)) }, "not a directory"},
		"another layout": {func(t *testing.T, d string) {
			must(t, os.Mkdir(d, 0o700))
			must(t, os.WriteFile(filepath.Join(d, "VERSION"), []byte("2\n"), 0o600))
		}, "another version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "root")
			test.make(t, dir)
			if name == "below a file" {
				dir = filepath.Join(filepath.Dir(dir), "file", "root")
			}
			s := New(Options{Dir: dir})
			defer s.Close()
			e := storetest.New(t, "e", 100)
			wantMiss(t, s, e.Key, reason.MissTierOff)
			if _, err := s.Put(bg, e); !errors.Is(err, ErrOff) {
				t.Errorf("put: %v, want ErrOff", err)
			}
			if _, err := s.Lock(bg, e.Key, 0); !errors.Is(err, ErrOff) {
				t.Errorf("lock: %v, want ErrOff", err)
			}
			if st := s.Status(); st.On || !strings.Contains(st.Reason, test.want) {
				t.Errorf("status: on %v, reason %q; want %q in it", st.On, st.Reason, test.want)
			}
			if exists(filepath.Join(dir, ".meta")) {
				t.Error("something was written")
			}
		})
	}
}

func TestNoDirectorySetIsOff(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	defer s.Close()
	wantMiss(t, s, storetest.New(t, "e", 1).Key, reason.MissTierOff)
	if st := s.Status(); st.On || st.Reason == "" {
		t.Errorf("status %+v", st)
	}
}

// TestSetUserID: a program with rights of another user stores and reads
// nothing.
func TestSetUserID(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.hooks.SetID = true })
	wantMiss(t, s, storetest.New(t, "e", 1).Key, reason.MissTierOff)
	if st := s.Status(); st.On || !strings.Contains(st.Reason, "set-user-id") {
		t.Errorf("status %+v", st)
	}
}

// TestTierComesBack: what a person repairs is noticed without a restart.
func TestTierComesBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chmod(dir, 0o755))
	s := New(Options{Dir: dir, hooks: hooks{Hooks: rootdir.Hooks{OffFor: time.Nanosecond}}})
	defer s.Close()
	e := storetest.New(t, "e", 100)
	wantMiss(t, s, e.Key, reason.MissTierOff)
	must(t, os.Chmod(dir, 0o700))
	put(t, s, e, store.Stored)
	wantHit(t, s, e)
}

// TestMadeDirectoriesArePrivate: the root, its parents that were missing, and
// all below.
func TestMadeDirectoriesArePrivate(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	s := New(Options{Dir: filepath.Join(top, "a", "b", "root")})
	defer s.Close()
	e := storetest.New(t, "e", 100)
	wantMiss(t, s, e.Key, reason.MissAbsent)
	if exists(filepath.Join(top, "a")) {
		t.Error("a get made the root")
	}
	put(t, s, e, store.Stored)
	must(t, filepath.WalkDir(filepath.Join(top, "a"), func(path string, d os.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return nil
	}))
	tag, err := os.ReadFile(filepath.Join(s.o.Dir, "CACHEDIR.TAG"))
	if err != nil || !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55") {
		t.Errorf("cache tag %q, %v", tag, err)
	}
}

// TestLinkedDirectoryIsNotFollowed: a link in the place of one of the four
// directories leads nowhere, for readers and writers.
func TestLinkedDirectoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	for level := range 4 {
		s := open(t)
		e := storetest.New(t, "e", 100)
		put(t, s, e, store.Stored)
		names := s.at.Names(e.Key)
		path := filepath.Join(s.o.Dir, rootdir.LeafPrefix(names, level+1))
		away := filepath.Join(t.TempDir(), "away")
		must(t, os.Rename(path, away))
		must(t, os.Symlink(away, path))
		wantMiss(t, s, e.Key, reason.MissIrregular)
		if _, err := s.Put(bg, e); err == nil {
			t.Errorf("level %d: a put followed a link", level)
		}
		must(t, s.evictAll())
		if _, err := s.Clear(bg, nil, nil); err != nil {
			t.Fatal(err)
		}
		if !exists(filepath.Join(away, strings.TrimPrefix(rootdir.LeafPrefix(names, 4), rootdir.LeafPrefix(names, level+1)), "0.bin")) {
			t.Errorf("level %d: something was removed through a link", level)
		}
	}
}

// evictAll runs the evictor with a limit that nothing fits in.
func (s *Store) evictAll() error {
	all, err := s.victims()
	return errors.Join(err, s.evictThese(all))
}

// TestReadOnlyLayer: asked, never written, and it may belong to root and be
// readable by others.
func TestReadOnlyLayer(t *testing.T) {
	t.Parallel()
	w := open(t)
	e := storetest.New(t, "e", 100)
	put(t, w, e, store.Stored)
	must(t, w.Close())
	must(t, os.RemoveAll(filepath.Join(w.o.Dir, ".meta")))
	must(t, os.Chmod(w.o.Dir, 0o755))
	before := snapshot(t, w.o.Dir)
	s := New(Options{Dir: w.o.Dir, ReadOnly: true})
	defer s.Close()
	wantHit(t, s, e)
	wantMiss(t, s, storetest.New(t, "other", 1).Key, reason.MissAbsent)
	if n := len(mustList(t, s)); n != 1 {
		t.Errorf("%d entries listed", n)
	}
	if _, err := s.Recipe(bg, e.Key); err != nil {
		t.Error(err)
	}
	wantClean(t, s)
	if st := s.Status(); !st.On || !st.ReadOnly {
		t.Errorf("status %+v", st)
	}
	for op, err := range map[string]error{
		"put":    func() error { _, err := s.Put(bg, storetest.New(t, "n", 1)); return err }(),
		"delete": s.Delete(bg, e.Key),
		"lock":   func() error { _, err := s.Lock(bg, e.Key, 0); return err }(),
		"gc":     func() error { _, err := s.GC(bg, GCOptions{}, nil); return err }(),
		"clear":  func() error { _, err := s.Clear(bg, nil, nil); return err }(),
		"stats":  s.AddStats(stats.Snapshot{1}),
	} {
		if err == nil {
			t.Errorf("%s of a read-only layer succeeded", op)
		}
	}
	if after := snapshot(t, w.o.Dir); after != before {
		t.Errorf("the layer was changed:\n%s\nwas:\n%s", after, before)
	}
	must(t, os.Chmod(w.o.Dir, 0o775))
	open := New(Options{Dir: w.o.Dir, ReadOnly: true})
	defer open.Close()
	wantMiss(t, open, e.Key, reason.MissTierOff)
}

// layerVar names the layer to the process that uses it.
const layerVar = "KERNSTASH_TEST_LAYER"

// TestLayerOfRoot: a user may use a layer that root made; not a root.
func TestLayerOfRoot(t *testing.T) {
	t.Parallel()
	e := storetest.New(t, "e", 100)
	dir := os.Getenv(layerVar)
	if dir == "" {
		if os.Geteuid() != 0 {
			t.Skip("NOT RUN: only root can make a layer of root's for a user")
		}
		w := open(t)
		put(t, w, e, store.Stored)
		must(t, w.Close())
		dir = publicCopy(t, w.o.Dir)
	}
	asUser(t, func(t *testing.T) {
		layer := New(Options{Dir: dir, ReadOnly: true})
		defer layer.Close()
		wantHit(t, layer, e)
		root := New(Options{Dir: dir})
		defer root.Close()
		wantMiss(t, root, e.Key, reason.MissTierOff)
	}, layerVar+"="+dir)
}

// publicCopy copies a root to where all users can read it.
func publicCopy(t *testing.T, root string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "kernstash-layer-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.CopyFS(filepath.Join(dir, "layer"), os.DirFS(root)))
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		must(t, err)
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	}))
	return filepath.Join(dir, "layer")
}

// snapshot describes every name below a directory.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		b.WriteString(strings.Join([]string{path, info.Mode().String(), info.ModTime().String(), "\n"}, " "))
		return nil
	}))
	return b.String()
}
