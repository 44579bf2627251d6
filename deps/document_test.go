//go:build linux || darwin

package deps

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// cursor reads by docs/FORMAT.md alone, and shares no code with the package.
type cursor struct {
	t *testing.T
	b []byte
}

func (c *cursor) take(n uint64) []byte {
	c.t.Helper()
	if uint64(len(c.b)) < n {
		c.t.Fatalf("%d bytes wanted, %d left", n, len(c.b))
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) u32() uint64 { return uint64(binary.LittleEndian.Uint32(c.take(4))) }

func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

func (c *cursor) text() string { return string(c.take(c.u32())) }

func (c *cursor) includes() (list []key.Include) {
	for range c.u32() {
		list = append(list, key.Include{Name: c.text(), File: int(c.u32()) - 1})
	}
	return list
}

func TestDocumentDescribesManifest(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/x.h": "#include \"../b/y.h\"\n#include <none.h>\n", "b/y.h": "int y = __LINE__; const char *f = __FILE__;", "c/x.h": "",
	})
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include <x.h>\n")}
	got, r := Track(u, []string{"-Inone", "-Ia", "-Ic"}, Search{Dir: dir, Main: dir})
	if !r.None() {
		t.Fatal(r)
	}
	file := got.Manifest.Append([]byte("before"), key.Digest{1, 2})[len("before"):]
	end := len(file) - 32
	named := append([]byte("kernstash manifest\x00"), make([]byte, 32)...)
	named[len(named)-32], named[len(named)-31] = 1, 2
	if sum := sha256.Sum256(append(named, file[:end]...)); string(sum[:]) != string(file[end:]) {
		t.Error("the digest is not over what the document says")
	}
	c := &cursor{t, file[:end]}
	if magic, version, zero := string(c.take(8)), c.u32(), c.u32(); magic != "kstdeps\n" || version != 3 || zero != 0 {
		t.Errorf("magic %q, version %d, then %d", magic, version, zero)
	}
	read := key.Unit{Kind: u.Kind, Code: u.Code, Dir: c.text(), Includes: c.includes()}
	for range c.u32() {
		f := key.File{Digest: key.Digest(c.take(32)), Size: int64(c.u64()), Path: c.text()}
		f.Includes = c.includes()
		read.Files = append(read.Files, f)
	}
	if diff := gocmp.Diff(got.Unit, read, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("unit (-tracked +read):\n%s", diff)
	}
	paths := make(map[string]uint64)
	for range c.u32() {
		path := c.text()
		paths[path] = c.u32()
		young, st := c.u32(), files.Stamp{
			Inode: files.Inode{Device: c.u64(), Number: c.u64()},
			Size:  read.Files[paths[path]].Size, Mtime: int64(c.u64()), Ctime: int64(c.u64()),
		}
		if _, now, err := files.OS.Look(path); err != nil || now != st || young != 0 {
			t.Errorf("%s: stamp %v, flag %d; want %v, 0 (%v)", path, st, young, now, err)
		}
	}
	if diff := gocmp.Diff(map[string]uint64{dir + "/a/x.h": 0, dir + "/b/y.h": 1}, paths); diff != "" {
		t.Errorf("paths (-want +read):\n%s", diff)
	}
	probes := make(map[string]uint64)
	for range c.u32() {
		path := c.text()
		probes[path] = c.u32()
	}
	want := map[string]uint64{dir + "/none": 0, dir + "/a": 3, dir + "/a/none.h": 0, dir + "/c/none.h": 0}
	if diff := gocmp.Diff(want, probes); diff != "" {
		t.Errorf("probes (-want +read):\n%s", diff)
	}
	if len(c.b) != 0 {
		t.Errorf("%d bytes are left", len(c.b))
	}
}
