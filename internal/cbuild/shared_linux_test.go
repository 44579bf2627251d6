package cbuild

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The libraries are made anew where a file that they are made of is another one, is gone, or
// is there now; tests and what was built are no such files.
func TestSources(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("capi/a.go", "a")
	write("capi/b.c", "b")
	was := ""
	for _, c := range []struct {
		name    string
		change  func()
		another bool
	}{
		{"at first", func() {}, true},
		{"nothing", func() {}, false},
		{"a test", func() { write("capi/a_test.go", "t") }, false},
		{"what was built", func() { write("lib/.tests/libx.so", "x") }, false},
		{"a test's data", func() { write("capi/testdata/x.c", "x") }, false},
		{"of another size", func() { write("capi/a.go", "a 2") }, true},
		{"of another time", func() {
			if err := os.Chtimes(filepath.Join(root, "capi/b.c"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a new one", func() { write("key/c.go", "c") }, true},
		{"one less", func() { os.Remove(filepath.Join(root, "capi/a.go")) }, true},
		{"another compiler's flags", func() { t.Setenv("CFLAGS", "-O3 -g3") }, true},
	} {
		c.change()
		now, err := sources(root)
		if err != nil {
			t.Fatal(err)
		}
		if (now != was) != c.another {
			t.Errorf("%s: another one: %v, want %v", c.name, now != was, c.another)
		}
		was = now
	}
}
