//go:build linux

package deps_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// What a watched compiler looked at is known if it did not change meanwhile, and no source asks for the time.
func TestWatched(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(dir string) error
		against   string
	}{
		"nothing happens": {meanwhile: func(string) error { return nil }},
		"a file changes":  {meanwhile: func(dir string) error { return os.WriteFile(dir+"/sub/a.h", []byte("2"), 0o600) }, against: "changed"},
		"a file is touched": {
			meanwhile: func(dir string) error { return os.Chtimes(dir+"/sub/a.h", time.Unix(1, 0), time.Unix(1, 0)) }, against: "changed",
		},
		"a directory was elsewhere": {
			meanwhile: func(dir string) error {
				if err := os.Rename(dir+"/sub", dir+"/other"); err != nil {
					return err
				}
				return os.Rename(dir+"/other", dir+"/sub")
			}, against: "changed",
		},
		"a link is another": {
			meanwhile: func(dir string) error {
				if err := os.Remove(dir + "/link"); err != nil {
					return err
				}
				return os.Symlink("sub", dir+"/link")
			}, against: "changed",
		},
		"another file is made": {meanwhile: func(dir string) error { return os.WriteFile(dir+"/sub/b.h", nil, 0o600) }},
		"the time of day":      {meanwhile: func(dir string) error { return os.WriteFile(dir+"/sub/time.h", []byte("x = __TI\\\r\nME__;"), 0o600) }, against: "time"},
		"it in three lines": {meanwhile: func(dir string) error {
			return os.WriteFile(dir+"/sub/time.h", []byte("a \\\n b x__\\\n\\\nDATE__;"), 0o600)
		}, against: "time"},
		"blanks behind the backslash": {meanwhile: func(dir string) error {
			return os.WriteFile(dir+"/sub/time.h", []byte("__DA\\ \t\nTE__"), 0o600)
		}, against: "time"},
		"a trigraph for it": {meanwhile: func(dir string) error {
			return os.WriteFile(dir+"/sub/time.h", []byte("__DA??/\nTE__"), 0o600)
		}, against: "time"},
		"it after another": {meanwhile: func(dir string) error {
			return os.WriteFile(dir+"/sub/time.h", []byte("_TIME__ STAMP__ __TIMESTAMP__"), 0o600)
		}, against: "time"},
		"words of it": {meanwhile: func(dir string) error {
			return os.WriteFile(dir+"/sub/time.h", []byte("_TIME__ __TI \\\nME__ __TI\\\n ME__ DATE__"), 0o600)
		}},
		"it in a program": {meanwhile: func(dir string) error { return os.WriteFile(dir+"/sub/time.h", []byte("\x00__TIME__"), 0o600) }},
		"a FIFO":          {meanwhile: func(dir string) error { return unix.Mkfifo(dir+"/sub/time.h", 0o600) }, against: "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, err := range []error{
				os.Mkdir(dir+"/sub", 0o700), os.WriteFile(dir+"/sub/a.h", []byte("1"), 0o600), os.Symlink("sub", dir+"/link"),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(50 * time.Millisecond)
			began := time.Now()
			if err := test.meanwhile(dir); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(test.against, "time") || test.against == "" {
				time.Sleep(30 * time.Millisecond)
			}
			paths := []string{dir + "/link/a.h", dir + "/sub/a.h", dir + "/sub/none.h", dir + "/sub"}
			if _, err := os.Lstat(dir + "/sub/time.h"); err == nil {
				paths = append(paths, dir+"/sub/time.h")
				began = time.Now()
			}
			u := key.Unit{Kind: key.Opaque, Code: []byte("x")}
			var absent []string
			got, err := deps.Watched(u, paths, began, func(string) *key.Digest { return nil }, func(paths []string) error {
				absent = paths
				return nil
			})
			if (err == nil) != (test.against == "") || err != nil && !strings.Contains(err.Error(), test.against) {
				t.Fatalf("error %v, want one with %q", err, test.against)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff([]string{dir + "/sub/none.h"}, absent); diff != "" {
				t.Errorf("absent (-want +got):\n%s", diff)
			}
			if _, changed := got.Manifest.Check(); changed != "" {
				t.Errorf("%s changed", changed)
			}
			if _, err := new(key.Image).Tracked([]key.Unit{got.Manifest.Before(u)}); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "sub/none.h"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, changed := got.Manifest.Check(); changed != dir+"/sub/none.h" {
				t.Errorf("%q changed, want what is new", changed)
			}
		})
	}
}

// A file whose digest is known is not read.
func TestWatchedWithDigests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/program", []byte("__TIME__"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	got, err := deps.Watched(key.Unit{Kind: key.Opaque}, []string{dir + "/none", dir + "/program"}, time.Now(), func(path string) *key.Digest {
		if path == dir+"/program" {
			return &key.Digest{1}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []key.File{{Path: dir + "/program", Digest: key.Digest{1}, Size: 8}}
	if d := cmp.Diff(want, got.Unit.Files); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What may have gone while the compiler ran is not known.
func TestWatchedThatIsGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	_, err := deps.Watched(key.Unit{Kind: key.Opaque}, []string{t.TempDir() + "/none"}, time.Now(), func(string) *key.Digest { return nil }, func([]string) error { return gone })
	if !errors.Is(err, gone) {
		t.Errorf("error %v, want that of who was asked", err)
	}
}
