//go:build linux || darwin

package deps

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// Where a change time can be set, a file is read: another one with the same stamp is
// noticed, and what has not changed is not taken for changed.
func TestUntrustedStampsAreRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.h": "int one;"})
	var constant files.Stamp
	sys := &counted{age: time.Hour}
	s := sys.system()
	s.Trusted = func(string, uint64) bool { return false }
	look, read := s.Look, s.Read
	s.Look = func(path string) (files.Kind, files.Stamp, error) {
		k, st, err := look(path)
		if k == files.Regular {
			if constant == (files.Stamp{}) {
				constant = st
			}
			st = constant
		}
		return k, st, err
	}
	s.Read = func(path string, limit int64) ([]byte, files.Stamp, error) {
		b, _, err := read(path, limit)
		return b, constant, err
	}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n")}
	m := trackBy(t, s, u, nil, Search{Dir: dir, Main: dir}).Manifest
	for range 2 {
		clear(sys.reads)
		if _, renewed, changed := check(m, s, u); changed != "" || renewed || len(sys.reads) != 1 {
			t.Errorf("changed %q, renewed %v, read %v; want one read", changed, renewed, sys.reads)
		}
	}
	if changed := m.ChangedOn(s); changed != "" {
		t.Errorf("behind the build: changed %q", changed)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.h"), []byte("int two;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, changed := check(m, s, u); changed == "" {
		t.Error("a file with another content and the same stamp was taken for the same")
	}
	if changed := m.ChangedOn(s); changed == "" {
		t.Error("behind the build it was, too")
	}
}
