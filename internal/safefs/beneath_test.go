package safefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// ways are the options under which everything must hold.
var ways = map[string]Options{"fast": {}, "slow": {NoOpenat2: true, NoTmpfile: true}}

func openRoot(t *testing.T, o Options) (Dir, string) {
	t.Helper()
	path := t.TempDir()
	d, _, err := OpenRoot(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mkdir(d Dir, name string) error {
	sub, err := d.Mkdir(name)
	if err == nil {
		err = sub.Close()
	}
	return err
}

// TestNoWayOut: no link and no name leads anywhere else.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := openRoot(t, o)
			outside := t.TempDir()
			must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
			must(t, os.MkdirAll(filepath.Join(path, "a/b"), 0o700))
			must(t, os.WriteFile(filepath.Join(path, "a/b/f"), []byte("in"), 0o600))
			for link, to := range map[string]string{"out": outside, "in": "a", "a/b/link": "f", "magic": "/proc/self/cwd"} {
				if err := os.Symlink(to, filepath.Join(path, link)); err != nil && runtime.GOOS == "windows" {
					t.Log("NOT RUN with links, which this user may not make: ", err)
				} else {
					must(t, err)
				}
			}
			for _, p := range []string{
				"out/secret", "in/b/f", "a/b/link", "magic/x", "../secret", "a/../../x", "/etc/passwd", "",
				"a//b/f", "a/b/../b/f", "in", `..\secret`, `a\..\..\x`, "a/b/f:stream", "a/b/f::$DATA", `\??\C:\x`, "C:",
			} {
				if f, _, err := d.Open(p); err == nil && (p != "a//b/f" && p != "a/b/../b/f" || o.NoOpenat2) {
					f.Close()
					t.Errorf("open %q succeeded", p)
				}
				if sub, err := d.OpenDir(p); err == nil {
					sub.Close()
					t.Errorf("open directory %q succeeded", p)
				}
			}
			f, info, err := d.Open("a/b/f")
			must(t, err)
			defer f.Close()
			if info.Kind != Regular || info.Size != 2 || info.UID != uint32(os.Geteuid()) || info.Perm != 0o600 {
				t.Errorf("info %+v", info)
			}
			if _, _, err := OpenRoot(filepath.Join(path, "in"), o); err == nil {
				t.Error("a link was opened as a root")
			}
		})
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := openRoot(t, o)
			must(t, mkdir(d, "tmp"))
			tmp, err := d.OpenDir("tmp")
			must(t, err)
			defer tmp.Close()
			must(t, d.Publish(tmp, "f", false, 1e18, []byte("one"), nil, []byte("two")))
			info, err := d.Lstat("f")
			must(t, err)
			if info.Mtime != 1e18 || info.Perm != 0o600 {
				t.Errorf("info %+v", info)
			}
			if err := d.Publish(tmp, "f", false, 0, []byte("x")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("publish over a file: %v, want fs.ErrExist", err)
			}
			if b, _ := os.ReadFile(filepath.Join(path, "f")); string(b) != "onetwo" {
				t.Errorf("contents %q", b)
			}
			must(t, d.Publish(tmp, "f", true, 0, []byte("x")))
			if b, _ := os.ReadFile(filepath.Join(path, "f")); string(b) != "x" {
				t.Errorf("contents %q after replacing", b)
			}
			must(t, mkdir(d, "dir"))
			if err := d.Publish(tmp, "dir", true, 0, []byte("x")); err == nil {
				t.Error("a directory was replaced")
			}
			if list, _ := os.ReadDir(filepath.Join(path, "tmp")); len(list) > 0 {
				t.Errorf("left behind: %v", list)
			}
		})
	}
}

// TestPublishInRemovedDirectory is fs.ErrNotExist, so that callers make it
// anew.
func TestPublishInRemovedDirectory(t *testing.T) {
	t.Parallel()
	for name, o := range ways {
		d, _ := openRoot(t, o)
		must(t, mkdir(d, "leaf"))
		leaf, err := d.OpenDir("leaf")
		must(t, err)
		must(t, d.Rmdir("leaf"))
		if err := leaf.Publish(d, "f", false, 0, []byte("x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", name, err)
		}
		leaf.Close()
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	d, path := openRoot(t, Options{})
	var want []string
	for i := range 1500 {
		name := "f" + string(rune('a'+i%26)) + time.Duration(i).String()
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(path, name), nil, 0o600))
	}
	for range 2 { // each call starts at the beginning
		var got []string
		must(t, d.Each(func(name string) bool { got = append(got, name); return true }))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d names, want %d", len(got), len(want))
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	d, _ := openRoot(t, Options{})
	for _, name := range []string{"", ".", "..", "a/b", "../x", "a\x00b"} {
		for op, err := range map[string]error{
			"mkdir": mkdir(d, name), "rmdir": d.Rmdir(name), "remove": d.Remove(name),
			"rename": d.Rename(name, d, "x"), "to": d.Rename("x", d, name), "publish": d.Publish(d, name, true, 0),
		} {
			if !errors.Is(err, ErrPath) {
				t.Errorf("%s %q: %v, want ErrPath", op, name, err)
			}
		}
	}
}
