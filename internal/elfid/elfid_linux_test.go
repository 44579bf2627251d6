package elfid_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/elfid"
)

// libc returns the C library that every dynamic program here is linked with.
func libc(t testing.TB) string {
	t.Helper()
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("no libc.so.6: these tests need a Linux with glibc")
	return ""
}

func TestBuildIDIsTheLinkers(t *testing.T) {
	path := libc(t)
	l, err := elfid.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Soname != "libc.so.6" {
		t.Errorf("soname %q", l.Soname)
	}
	id, ok := strings.CutPrefix(l.ID, "build-id:")
	id, _, _ = strings.Cut(id, " ")
	if !ok || len(id) < 16 {
		t.Fatalf("id %q, want a build id", l.ID)
	}
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Log("no readelf to compare with")
		return
	}
	out, err := exec.Command(readelf, "-nd", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{id}, l.Needed...) {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("readelf does not show %q", want)
		}
	}
	if len(l.Needed) == 0 {
		t.Error("libc needs its loader")
	}
}

func TestContentStandsInForAMissingBuildID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "text": "not a library", "cut": "\x7fELF\x02\x01\x01", "lying": "\x7fELF\x02\x01\x01" + strings.Repeat("\xff", 57),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(content))
		l, err := elfid.Inspect(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := "content:" + hex.EncodeToString(sum[:16]); l.ID != want || l.Soname != name {
			t.Errorf("%s: %q, %q, want %q", name, l.Soname, l.ID, want)
		}
	}
}

func TestAChangedFileIsAnotherLibrary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lib.so")
	var ids []string
	for _, content := range []string{"one", "two"} {
		// Replaced as packages are: a new file under the old name.
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := elfid.Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, l.ID)
		}
	}
	if ids[0] != ids[1] || ids[2] != ids[3] || ids[0] == ids[2] {
		t.Errorf("ids %q", ids)
	}
}

func TestInspectErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := elfid.Inspect(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := elfid.Inspect(dir); err == nil {
		t.Error("a directory is no library")
	}
}

func TestLoadedFindsThisProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := elfid.Loaded()
	found := m.Named(func(base string) bool { return base == filepath.Base(self) })
	if len(found) != 1 || found[0] != self {
		t.Errorf("found %q, want %q", found, self)
	}
	own := reflect.ValueOf(TestLoadedFindsThisProgram).Pointer()
	r, ok := m.Find(own)
	if !ok || r.Path != self || r.Start > own || own >= r.End {
		t.Fatalf("Find(%#x) = %v, %v", own, r, ok)
	}
	for _, addr := range []uintptr{r.Start, r.End - 1} {
		if at, ok := m.Find(addr); !ok || at != r {
			t.Errorf("Find(%#x) = %v, %v, want %v", addr, at, ok, r)
		}
	}
	word := new(int) // no file's
	if at, ok := m.Find(uintptr(unsafe.Pointer(word))); !ok || at.Path != "" {
		t.Errorf("on the heap: %v, %v", at, ok)
	}
	runtime.KeepAlive(word)
	if at, ok := m.Find(1); ok {
		t.Errorf("Find(1) = %v", at)
	}
}

func BenchmarkInspect(b *testing.B) {
	path := libc(b)
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := elfid.Inspect(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoaded(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		elfid.Loaded()
	}
}

// A library may be changed under its build id: by a patch, or by a linker that is told the id.
func TestABuildIDIsNotEnough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "libcompiler.so")
	var ids []string
	for _, code := range []string{"int n = 1;", "int n = 2;", "int n = 1;"} {
		source := filepath.Join(dir, "compiler.c")
		if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("cc", "-shared", "-fPIC", "-Wl,--build-id=0x0123456789abcdef0123", "-o", path, source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		l, err := elfid.Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(l.ID, "build-id:0123456789abcdef0123 ") {
			t.Errorf("id %q", l.ID)
		}
		ids = append(ids, l.ID)
	}
	if ids[0] == ids[1] || ids[0] != ids[2] {
		t.Errorf("ids %q", ids)
	}
}

// files is the table that processes share, in memory.
type files struct{ b []byte }

func (f *files) ReadDigests() ([]byte, error) { return f.b, nil }
func (f *files) WriteDigests(b []byte) error  { f.b = b; return nil }

// What a library says of itself is in the table that processes share, so that the next one does not
// open it.
func TestInspectionIsShared(t *testing.T) {
	var table files
	contents.Share(&table, true)
	defer contents.Unshare(&table)
	l, err := elfid.Inspect(libc(t))
	if err != nil {
		t.Fatal(err)
	}
	contents.Save()
	build, content, _ := strings.Cut(strings.TrimPrefix(l.ID, "build-id:"), " content:")
	if line := "derived elf1 " + content + " " + build + "\t" + l.Soname + "\t" + strings.Join(l.Needed, "\t") + "\n"; !strings.Contains(string(table.b), line) {
		t.Errorf("the table has no line %q:\n%s", line, table.b)
	}
	again, err := elfid.Inspect(libc(t))
	if diff := cmp.Diff(l, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
