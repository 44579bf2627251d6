package pocl

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

// put writes a file, and the directories that it is in.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// What PoCL compiles with is in its identity, wherever it lies, and a change while the
// process runs is seen.
func TestWhatPoCLCompilesWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library, share := filepath.Join(dir, "lib/x/libpocl.so.2"), filepath.Join(dir, "share/pocl")
	header, bitcode := filepath.Join(share, "include/deep/_kernel.h"), filepath.Join(share, "kernel-x.bc")
	ld, other := filepath.Join(dir, "ld"), filepath.Join(dir, "other")
	put(t, library, "")
	put(t, header, "int popcount(int);\n")
	put(t, bitcode, "BC")
	system, err := exec.LookPath("ld")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(system)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ld, "ld"), string(program)+"changed")
	put(t, filepath.Join(other, "ls"), "")
	path := func(dirs ...string) []string {
		return []string{"PATH=" + strings.Join(append(dirs, filepath.Dir(system)), string(filepath.ListSeparator))}
	}
	find := func(environ []string) []key.Pair {
		t.Helper()
		pairs, err := new(files).find(library, environ)
		if err != nil {
			t.Fatal(err)
		}
		return pairs
	}
	first := find(path())
	for _, c := range []struct {
		name   string
		change func()
		path   []string
		same   bool
	}{
		{"nothing", func() {}, path(), true},
		{"a directory of PATH without a linker", func() {}, path(other, "", filepath.Join(dir, "none")), true},
		{"another linker", func() {}, path(ld), false},
		{"a header", func() { put(t, header, "#define popcount(x) 77\n") }, path(), false},
		{"as it was", func() { put(t, header, "int popcount(int);\n") }, path(), true},
		{"a kernel library", func() { put(t, bitcode, "CB") }, path(), false},
		{"one more header", func() { put(t, bitcode, "BC"); put(t, filepath.Join(share, "include/new.h"), "") }, path(), false},
	} {
		c.change()
		if got := find(c.path); cmp.Equal(got, first) != c.same {
			t.Errorf("%s: %v, at first %v", c.name, got, first)
		}
	}

	for _, c := range []struct {
		name   string
		change func()
		path   []string
		moved  bool
	}{
		{"nothing", func() {}, path(), false},
		{"another linker", func() {}, path(ld), true},
		{"a linker at a place that was searched", func() { put(t, filepath.Join(other, "ld"), string(program)) }, path(other), true},
		{"a header", func() { put(t, header, "#define popcount(x) 77\n") }, path(), true},
		{"a file more", func() { put(t, filepath.Join(share, "kernel-y.bc"), "") }, path(), true},
		{"a kernel library gone", func() { _ = os.Remove(bitcode) }, path(), true},
	} {
		var f files
		if _, err := f.find(library, path()); err != nil {
			t.Fatal(err)
		}
		c.change()
		if err := f.steady(c.path); (err != nil) != c.moved {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := f.steady(path()); (err != nil) != c.moved {
			t.Errorf("%s, later: %v", c.name, err)
		}
	}

	// What nobody can tell is not cacheable.
	put(t, filepath.Join(dir, "script/ld"), "#!/bin/sh\nexec ld.other \"$@\"\n")
	for name, environ := range map[string][]string{"a script": path(filepath.Join(dir, "script")), "a relative directory": {"PATH=."}} {
		if name == "a relative directory" {
			if _, err := os.Stat("ld"); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if pairs, err := new(files).find(library, environ); err == nil {
			t.Errorf("the linker is %s: %v", name, pairs)
		}
	}
	if pairs, err := new(files).find("libpocl.so.2", path()); err == nil {
		t.Errorf("opened from the working directory: %v", pairs)
	}
}
