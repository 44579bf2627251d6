//go:build linux

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestCacheTag: a directory where somebody keeps more than a cache stays in
// the backup.
func TestCacheTag(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want bool
	}{
		"empty":            {"", true},
		"ours":             {"VERSION", true},
		"somebody's files": {"thesis.tex", false},
	} {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o700))
		if test.file != "" {
			must(t, os.WriteFile(filepath.Join(dir, test.file), []byte("1\n"), 0o600))
		}
		for range 2 {
			s := New(Options{Dir: dir})
			if _, err := s.Put(bg, storetest.New(t, "e", 100)); err != nil {
				t.Fatal(err)
			}
			must(t, s.Close())
			if got := exists(filepath.Join(dir, "CACHEDIR.TAG")); got != test.want {
				t.Errorf("%s: tag there %v, want %v", name, got, test.want)
			}
		}
	}
}

// TestLookingMakesNothing: whoever asks for numbers changes nothing.
func TestLookingMakesNothing(t *testing.T) {
	t.Parallel()
	for _, remove := range []string{".meta", ".meta/tmp", ".meta/account", ".meta/stats", ".meta/locks"} {
		s := open(t)
		put(t, s, storetest.New(t, "e", 100), store.Stored)
		must(t, s.Close())
		for _, name := range []string{"VERSION", "CACHEDIR.TAG", remove} {
			must(t, os.RemoveAll(filepath.Join(s.o.Dir, name)))
		}
		before := snapshot(t, s.o.Dir)
		s = New(s.o)
		if st := s.Status(); !st.On || !st.Exists {
			t.Errorf("status %+v", st)
		}
		if r, err := s.GC(bg, GCOptions{MaxAge: 1, DryRun: true}, nil); err != nil || r.Removed != 1 {
			t.Errorf("dry run: %+v, %v", r, err)
		}
		if _, err := s.Stats(); err != nil {
			t.Error(err)
		}
		wantClean(t, s)
		mustList(t, s)
		must(t, s.Close())
		if after := snapshot(t, s.o.Dir); after != before {
			t.Errorf("without %s: was\n%s\nis\n%s", remove, before, after)
		}
	}
}
