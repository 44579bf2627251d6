//go:build linux || darwin

package deps

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"golang.org/x/sys/unix"
)

// tree makes a directory with files of these contents; "-> target" makes a
// symbolic link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if target, ok := bytes.CutPrefix([]byte(content), []byte("-> ")); ok && err == nil {
		err = os.Symlink(string(target), path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// counted counts the calls that go to the file system, whose clock is ahead or
// behind by age.
type counted struct {
	looks, reads map[string]int
	age          time.Duration
}

func (c *counted) system() files.System {
	c.looks, c.reads = make(map[string]int), make(map[string]int)
	older := func(s files.Stamp) files.Stamp {
		s.Mtime -= int64(c.age)
		s.Ctime -= int64(c.age)
		return s
	}
	return files.System{
		Trusted: everywhere,
		Look: func(path string) (files.Kind, files.Stamp, error) {
			c.looks[path]++
			k, s, err := files.OS.Look(path)
			return k, older(s), err
		},
		LookAt: func(path string) (files.Way, error) {
			c.looks[path]++
			return files.OS.LookAt(path)
		},
		Read: func(path string, limit int64) ([]byte, files.Stamp, error) {
			c.reads[path]++
			b, s, err := files.OS.Read(path, limit)
			return b, older(s), err
		},
	}
}

// everywhere says that a file system sets its files' change times itself.
func everywhere(string, uint64) bool { return true }

// trackBy is Track by another system.
func trackBy(t testing.TB, sys files.System, u key.Unit, words []string, s Search) *Tracking {
	t.Helper()
	tr := newTracker(sys, nil, u, words, s)
	got, err := tr.track()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// check returns the unit with what it reads, if that is as it was; else changed names a file
// that is not.
func check(m *manifest.Manifest, s files.System, u key.Unit) (tracked key.Unit, renewed bool, changed string) {
	if renewed, changed = m.CheckOn(s); changed != "" {
		return key.Unit{}, false, changed
	}
	return m.Before(u), renewed, ""
}

var checkTree = map[string]string{
	"x.h": "#pragma once\n#include <y.h>\n#include \"sub/../z.h\"\n", "inc/y.h": "#include <deep.h>\n",
	"inc/deep.h": "int deep;", "z.h": "int z;", "sub/none": "", "b/y.h": "", "twin/z.h": "int z;",
}

// An unchanged unit costs one look at each file and probe, and no read.
func TestCheckReadsNothing(t *testing.T) {
	t.Parallel()
	dir := tree(t, checkTree)
	sys := &counted{age: time.Hour}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"x.h\"\n#include <absent.h>")}
	got := trackBy(t, sys.system(), u, []string{"-I", "a", "-Iinc", "-Ib"}, Search{Dir: dir, Main: dir})
	m, err := manifest.Parse(got.Manifest.Append(nil, key.Digest{1}), key.Digest{1})
	if err != nil {
		t.Fatal(err)
	}
	tracked, renewed, changed := check(m, sys.system(), u)
	if changed != "" || renewed {
		t.Fatalf("changed %q, renewed %v", changed, renewed)
	}
	if diff := gocmp.Diff(got.Unit, tracked); diff != "" {
		t.Errorf("unit (-tracked +checked):\n%s", diff)
	}
	want := make(map[string]int)
	for _, name := range []string{"x.h", "inc/y.h", "inc/deep.h", "z.h", "sub", "a", "inc/absent.h", "b/absent.h"} {
		want[filepath.Join(dir, name)] = 1
	}
	if diff := gocmp.Diff(want, sys.looks); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	if len(sys.reads) != 0 {
		t.Errorf("read %v", sys.reads)
	}
	if changed := m.ChangedOn(sys.system()); changed != "" || len(sys.reads) != 0 {
		t.Errorf("behind the build: changed %q, read %v", changed, sys.reads)
	}
}

// Files that are younger than the grain of the clock are read until they are
// older, and the manifest is renewed then.
func TestCheckReadsYoungFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, checkTree)
	sys := &counted{}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"x.h\"\n")}
	m := trackBy(t, sys.system(), u, []string{"-Iinc"}, Search{Dir: dir, Main: dir}).Manifest
	if _, renewed, changed := check(m, sys.system(), u); changed != "" || renewed || len(sys.reads) != 4 {
		t.Errorf("changed %q, renewed %v, read %v; want four reads", changed, renewed, sys.reads)
	}
	sys.age = time.Hour
	if _, renewed, changed := check(m, sys.system(), u); changed != "" || !renewed || len(sys.reads) != 4 {
		t.Errorf("later: changed %q, renewed %v, read %v; want four reads and a renewal", changed, renewed, sys.reads)
	}
	if _, renewed, changed := check(m, sys.system(), u); changed != "" || renewed || len(sys.reads) != 0 {
		t.Errorf("at last: changed %q, renewed %v, read %v; want no read", changed, renewed, sys.reads)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	tests := []struct {
		name    string
		do      func(t *testing.T, dir string) error
		changed string // below the directory; "" for nothing
		renewed bool
		after   string // what Changed says, which takes paths in their order and asks for equal times; "" for the same
	}{
		{name: "nothing", do: func(*testing.T, string) error { return nil }},
		{"touched", func(_ *testing.T, dir string) error { return os.Chtimes(dir+"/inc/deep.h", old, old) }, "", true, "inc/deep.h"},
		{"written anew", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/inc/y.h"), os.WriteFile(dir+"/inc/y.h", []byte("#include <deep.h>\n"), 0o600))
		}, "", true, "inc/y.h"},
		{"three deep, same size and time", func(_ *testing.T, dir string) error {
			info, err := os.Stat(dir + "/inc/deep.h")
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(dir+"/inc/deep.h", []byte("int DEEP;"), 0o600), os.Chtimes(dir+"/inc/deep.h", old, info.ModTime()))
		}, "inc/deep.h", false, ""},
		{"earlier on the path", func(_ *testing.T, dir string) error { return os.WriteFile(dir+"/first/y.h", nil, 0o600) }, "first/y.h", false, ""},
		{"a directory of the path", func(t *testing.T, dir string) error { write(t, dir+"/a/y.h", ""); return nil }, "a", false, ""},
		{"a directory of the path that is a file", func(_ *testing.T, dir string) error { return os.WriteFile(dir+"/a", nil, 0o600) }, "a", false, ""},
		{"later on the path", func(_ *testing.T, dir string) error { return os.WriteFile(dir+"/b/deep.h", nil, 0o600) }, "", false, ""},
		{"a name looked for in vain", func(_ *testing.T, dir string) error { return os.WriteFile(dir+"/inc/absent.h", nil, 0o600) }, "inc/absent.h", false, ""},
		{"vanished", func(_ *testing.T, dir string) error { return os.Remove(dir + "/z.h") }, "z.h", false, "same.h"},
		{"now a FIFO", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/z.h"), unix.Mkfifo(dir+"/z.h", 0o600))
		}, "z.h", false, "same.h"},
		{"now a directory", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/z.h"), os.Mkdir(dir+"/z.h", 0o700))
		}, "z.h", false, "same.h"},
		{"a probe that is a FIFO now", func(_ *testing.T, dir string) error { return unix.Mkfifo(dir+"/inc/absent.h", 0o600) }, "inc/absent.h", false, ""},
		{"a probe that is a link to nothing", func(_ *testing.T, dir string) error { return os.Symlink("nowhere", dir+"/inc/absent.h") }, "", false, ""},
		{"unreadable", func(_ *testing.T, dir string) error { return os.Chmod(dir+"/z.h", 0) }, unreadable("z.h"), unreadable("z.h") == "", "same.h"},
		{"a link to another file", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/link.h"), os.Symlink("b/y.h", dir+"/link.h"))
		}, "link.h", false, ""},
		{"a link to its own content", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/link.h"), os.Symlink("twin/z.h", dir+"/link.h"))
		}, "", true, "link.h"},
		{"two files become one", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/one.h"), os.Link(dir+"/two.h", dir+"/one.h"))
		}, "two.h", false, "one.h"},
		{"one file becomes two", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir+"/same.h"), os.WriteFile(dir+"/same.h", []byte("int z;"), 0o600))
		}, "z.h", false, "same.h"},
		{"directories swapped", func(_ *testing.T, dir string) error {
			return errors.Join(os.Rename(dir+"/inc", dir+"/x"), os.Rename(dir+"/b", dir+"/inc"))
		}, "inc/deep.h", false, ""},
		{"a directory becomes a link", func(_ *testing.T, dir string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/elsewhere"), os.Symlink("elsewhere", dir+"/sub"))
		}, "sub", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, checkTree)
			for name, content := range map[string]string{"first/none": "", "link.h": "-> z2.h", "z2.h": "int z;", "one.h": "int o;", "two.h": "int o;"} {
				write(t, filepath.Join(dir, name), content)
			}
			if err := os.Link(dir+"/z.h", dir+"/same.h"); err != nil {
				t.Fatal(err)
			}
			u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"x.h\"\n#include <absent.h>\n#include \"link.h\"\n#include \"one.h\"\n#include \"two.h\"\n#include \"same.h\"\n")}
			sys := &counted{age: time.Hour}
			got := trackBy(t, sys.system(), u, []string{"-Ifirst", "-Ia", "-Iinc", "-Ib"}, Search{Dir: dir, Main: dir})
			text := got.Manifest.Append(nil, key.Digest{1})
			if err := tt.do(t, dir); err != nil {
				t.Fatal(err)
			}
			m, err := manifest.Parse(text, key.Digest{1})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tt.changed != "" {
				want = filepath.Join(dir, tt.changed)
			}
			tracked, renewed, changed := check(m, sys.system(), u)
			if changed != want || renewed != tt.renewed {
				t.Errorf("changed %q, renewed %v; want %q, %v", changed, renewed, want, tt.renewed)
			}
			if changed == "" {
				if diff := gocmp.Diff(got.Unit, tracked); diff != "" {
					t.Errorf("unit (-tracked +checked):\n%s", diff)
				}
			}
			if renewed {
				if _, again, changed := check(m, sys.system(), u); changed != "" || again || len(sys.reads) > 0 {
					t.Errorf("renewed, then changed %q, renewed %v, read %v", changed, again, sys.reads)
				}
			}
			if tt.after != "" {
				want = filepath.Join(dir, tt.after)
			}
			m, _ = manifest.Parse(text, key.Digest{1})
			if changed := m.ChangedOn(sys.system()); changed != want {
				t.Errorf("behind the build: changed %q, want %q", changed, want)
			}
		})
	}
}

// unreadable returns name, unless we may read all files: then nothing changed
// but the change time.
func unreadable(name string) string {
	if os.Geteuid() == 0 {
		return ""
	}
	return name
}
