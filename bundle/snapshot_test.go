package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSnapshotSeesOldFiles: a file that is moved there, or goes, while others are copied is seen though its times are old.
func TestSnapshotSeesOldFiles(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	write := func(name, text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		meanwhile func(dir string)
		want      string
	}{
		"nothing":  {func(string) {}, ""},
		"longer":   {func(dir string) { write(filepath.Join(dir, "a"), "xx", old) }, "a"},
		"older":    {func(dir string) { write(filepath.Join(dir, "a"), "y", old.Add(-time.Minute)) }, "a"},
		"another":  {func(dir string) { write(filepath.Join(dir, "c"), "y", old) }, "c"},
		"one less": {func(dir string) { os.Remove(filepath.Join(dir, "b")) }, "b"},
		"just now": {func(dir string) { write(filepath.Join(dir, "a"), "y", time.Now()) }, "a"},
	} {
		from, to := t.TempDir(), t.TempDir()
		write(filepath.Join(from, "a"), "x", old)
		write(filepath.Join(from, "b"), "x", old)
		s := snapshot{Harvest: &Harvest{From: from}, owner: -1, copied: make(map[string]stamp), skipped: make(map[string]error)}
		var err error
		if s.root, err = os.OpenRoot(from); err != nil {
			t.Fatal(err)
		}
		defer s.root.Close()
		if s.to, err = os.OpenRoot(to); err != nil {
			t.Fatal(err)
		}
		defer s.to.Close()
		before, err := s.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		test.meanwhile(from)
		if changed, err := s.once(t.Context(), before); err != nil || changed != test.want {
			t.Errorf("%s: changed %q, want %q, %v", name, changed, test.want, err)
		}
		if err := s.take(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, _ := os.ReadDir(from)
		if got, _ := os.ReadDir(to); len(got) != len(want) {
			t.Errorf("%s: %d files were taken of %d", name, len(got), len(want))
		}
	}
}
