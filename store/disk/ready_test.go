package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store"
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

// A build lock makes no more of a root than it needs, Ready all that a put will need but
// the directories of the program.
func TestReady(t *testing.T) {
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
	for range 2 {
		s.Ready(bg, e.Key)
		device := s.names(e.Key)[componentDevice]
		want := []string{".meta", "CACHEDIR.TAG", "VERSION", device}
		slices.Sort(want)
		if d := cmp.Diff(want, namesIn(t, dir)); d != "" {
			t.Errorf("ready (-want +got):\n%s", d)
		}
		if in := namesIn(t, filepath.Join(dir, device)); len(in) != 0 {
			t.Errorf("in the directory of the device: %v", in)
		}
	}
	put(t, s, e, store.Stored)
	wantHit(t, s, e)
	wantClean(t, s)
}

// Where nothing can be made, or is to be, nothing is.
func TestReadyMakesNothing(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(bg)
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*Options)
	}{
		"read-only": {bg, func(o *Options) { o.ReadOnly = true }},
		"canceled":  {canceled, func(*Options) {}},
	} {
		dir := filepath.Join(t.TempDir(), "root")
		s := open(t, func(o *Options) { o.Dir = dir; c.change(o) })
		s.Ready(c.ctx, storetest.New(t, "e", 100).Key)
		if in := namesIn(t, filepath.Dir(dir)); len(in) != 0 {
			t.Errorf("%s: made %v", name, in)
		}
	}
	file := filepath.Join(t.TempDir(), "root")
	must(t, os.WriteFile(file, []byte("somebody's"), 0o600))
	s := open(t, func(o *Options) { o.Dir = file })
	s.Ready(bg, storetest.New(t, "e", 100).Key)
	if b, err := os.ReadFile(file); err != nil || string(b) != "somebody's" {
		t.Errorf("%q, %v", b, err)
	}
}
