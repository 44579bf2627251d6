package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
)

var _ remote.Objects = (*Directory)(nil)

func open(t *testing.T) (*Directory, string) {
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, dir
}

func list(t *testing.T, d *Directory, prefix string) (names []string) {
	t.Helper()
	for o, err := range d.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Modified.IsZero() {
			t.Errorf("%s: no time", o.Name)
		}
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

func TestObjects(t *testing.T) {
	t.Parallel()
	d, _ := open(t)
	ctx := t.Context()
	const name = "v1/default/ab/abcd"
	if _, err := d.Get(ctx, name, 10); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get of none: %v", err)
	}
	if err := d.Delete(ctx, name); err != nil {
		t.Errorf("delete of none: %v", err)
	}
	if err := d.Put(ctx, name, []byte("one"), false); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(ctx, name, []byte("two"), false); !errors.Is(err, remote.ErrExists) {
		t.Errorf("put over one: %v", err)
	}
	if b, err := d.Get(ctx, name, 3); err != nil || string(b) != "one" {
		t.Errorf("get: %q, %v", b, err)
	}
	if _, err := d.Get(ctx, name, 2); !errors.Is(err, remote.ErrTooLarge) {
		t.Errorf("get with a limit: %v", err)
	}
	if err := d.Put(ctx, name, []byte("three"), true); err != nil {
		t.Error(err)
	}
	if b, err := d.Get(ctx, name, 10); err != nil || string(b) != "three" {
		t.Errorf("get of what replaced it: %q, %v", b, err)
	}
	if _, err := d.Get(ctx, "v1/default/ab", 10); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get of a directory: %v", err)
	}
	if _, err := d.Get(ctx, name+"/x", 10); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get below an object: %v", err)
	}
	if err := d.Delete(ctx, name); err != nil {
		t.Error(err)
	}
	if _, err := d.Get(ctx, name, 10); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("get of what was deleted: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	d, dir := open(t)
	all := []string{"v1/a/00/x", "v1/a/01/y", "v1/ab/00/z", "v2/a/00/x", "w"}
	for _, name := range all {
		if err := d.Put(t.Context(), name, []byte("1"), false); err != nil {
			t.Fatal(err)
		}
	}
	// What is not ours is not seen.
	for _, name := range []string{"v1/a/00/README.MD", "v1/a/00/" + temporary + "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string][]string{
		"": all, "v1/a/": all[:2], "v1/a": all[:3], "v1/a/00/x": all[:1], "v3/": nil, "v1/a/00/x/": nil, "w": {"w"},
	} {
		if diff := cmp.Diff(want, list(t, d, prefix)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", prefix, diff)
		}
	}
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	d, dir := open(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../outside", "a/../../outside", "/etc/passwd", "a//b", "a/", "A", "a b", "a\\b", "a\x00", "v1/" + temporary + "1", strings.Repeat("a", 513)} {
		if err := d.Put(t.Context(), name, nil, true); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("put %q: %v", name, err)
		}
		if _, err := d.Get(t.Context(), name, 10); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("get %q: %v", name, err)
		}
		if err := d.Delete(t.Context(), name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if b, err := d.Get(t.Context(), "up/outside", 10); err == nil {
		t.Errorf("a link led outside: %q", b)
	}
	for o, err := range d.List(t.Context(), "../") {
		if err == nil {
			t.Errorf("listed %s", o.Name)
		}
	}
}

// TestOneOfManyWrites: of many who put an object of one name that is not there, one does.
func TestOneOfManyWrites(t *testing.T) {
	t.Parallel()
	d, dir := open(t)
	const n = 16
	var wg sync.WaitGroup
	wrote := make(chan byte, n)
	for i := range byte(n) {
		wg.Go(func() {
			err := d.Put(context.Background(), "a/b", bytes.Repeat([]byte{i}, 1000), false)
			switch {
			case err == nil:
				wrote <- i
			case !errors.Is(err, remote.ErrExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(wrote)
	if len(wrote) != 1 {
		t.Fatalf("%d wrote", len(wrote))
	}
	b, err := d.Get(t.Context(), "a/b", 1000)
	if err != nil || !bytes.Equal(b, bytes.Repeat([]byte{<-wrote}, 1000)) {
		t.Errorf("%v, %v", b, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "a", temporary+"*")); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
}

func TestAbandonedFilesGo(t *testing.T) {
	t.Parallel()
	d, dir := open(t)
	// Of v and videos, nothing is ours.
	all := []string{"old", "new", "v1/old", "v1/new", "videos/old"}
	for _, name := range all {
		file := filepath.Join(dir, filepath.Dir(name), temporary+filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age := time.Hour
		if strings.HasSuffix(name, "old") {
			age = 25 * time.Hour
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ prefix, gone string }{{"", ""}, {"v", ""}, {"v1/", "v1/old"}} {
		list(t, d, tt.prefix)
		for _, name := range all {
			_, err := os.Stat(filepath.Join(dir, filepath.Dir(name), temporary+filepath.Base(name)))
			if (err != nil) != (name == tt.gone) {
				t.Errorf("list %q, and %s: %v", tt.prefix, name, err)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	d, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	// A file system that hangs.
	hangs := make(chan struct{})
	defer close(hangs)
	began := make(chan struct{})
	go func() { <-began; cancel() }()
	_, err := within(ctx, "get", "a", func() (int, error) { close(began); <-hangs; return 0, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := d.Get(ctx, "a", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	remotetest.RunObjects(t, func(t *testing.T) remote.Objects {
		d, _ := open(t)
		return d
	})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	d, _ := open(t)
	remotetest.RunFlow(t, d, false)
}
