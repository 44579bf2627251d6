//go:build linux || darwin

package deps

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Whatever leads to a file and is another for a moment is noticed, though all is as it was
// in the end; a file that is made beside the others is not meant.
func TestWays(t *testing.T) {
	t.Parallel()
	aside := func(path string) error { return errors.Join(os.Rename(path, path+".x"), os.Rename(path+".x", path)) }
	replace := func(link, with, back string) error {
		return errors.Join(os.Symlink(with, link+".new"), os.Rename(link+".new", link), os.Symlink(back, link+".new"), os.Rename(link+".new", link))
	}
	for name, tt := range map[string]struct {
		do      func(dir string) error
		changed string
	}{
		"nothing":                     {func(string) error { return nil }, ""},
		"a link to and fro":           {func(dir string) error { return replace(dir+"/current", "v2", "stable") }, "/current"},
		"what it leads to, likewise":  {func(dir string) error { return replace(dir+"/stable", "v2", "v1") }, "/stable"},
		"a link aside and back":       {func(dir string) error { return aside(dir + "/current") }, "/current"},
		"a directory aside and back":  {func(dir string) error { return aside(dir + "/v1") }, "/v1"},
		"one far below":               {func(dir string) error { return aside(dir + "/v1/sub") }, "/current/sub"},
		"one that was looked through": {func(dir string) error { return aside(dir + "/empty") }, "/empty"},
		"a header that is a link":     {func(dir string) error { return replace(dir+"/v1/l.h", "none.h", "sub/b.h") }, "/current/l.h"},
		"a file beside":               {func(dir string) error { return os.WriteFile(dir+"/v1/sub/other", nil, 0o600) }, ""},
		"another link":                {func(dir string) error { return replace(dir+"/unused", "v2", "v1") }, ""},
		"a directory that is gone":    {func(dir string) error { return os.Remove(dir + "/empty") }, "/empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{
				"v1/a.h": "#include \"sub/b.h\"\n#include \"l.h\"\n", "v1/sub/b.h": "", "v1/l.h": "-> sub/b.h", "v2/a.h": "",
				"stable": "-> v1", "current": "-> stable", "unused": "-> v1",
			})
			if err := os.Mkdir(dir+"/empty", 0o700); err != nil {
				t.Fatal(err)
			}
			u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include <a.h>\n#include <none.h>\n")}
			got, r := Track(u, []string{"-Iempty", "-Icurrent"}, Search{Dir: dir, Main: dir})
			if !r.None() {
				t.Fatal(r)
			}
			ways := got.Manifest.Ways()
			ticked(t)
			if err := tt.do(dir); err != nil {
				t.Fatal(err)
			}
			want := ""
			if tt.changed != "" {
				want = dir + tt.changed
			}
			if changed := ways.Changed(); changed != want {
				t.Errorf("changed %q, want %q", changed, want)
			}
		})
	}
}

// ticked waits until the clock that files are stamped by has moved on.
func ticked(t *testing.T) {
	t.Helper()
	stamped := func(name string) time.Time {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for first := stamped("first"); !stamped("next").After(first); {
		time.Sleep(time.Millisecond)
	}
}
