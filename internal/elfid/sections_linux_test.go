package elfid

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The dynamic loader does not look at section headers: a library without good ones needs
// what it needs.
func TestDamagedSectionHeaders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.so")
	if out, err := exec.Command("cc", "-shared", "-o", good, "-x", "c", "/dev/null", "-Wl,--no-as-needed", "-lm", "-Wl,-soname,libgood.so.1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	want, id, err := read(good)
	if err != nil || len(want.Needed) == 0 || want.Soname != "libgood.so.1" {
		t.Fatalf("%+v, %v", want, err)
	}
	for name, damage := range map[string]func(b []byte){
		"beyond the end":         func(b []byte) { binary.LittleEndian.PutUint64(b[40:], uint64(len(b))) },
		"at an odd place":        func(b []byte) { binary.LittleEndian.PutUint64(b[40:], 7) },
		"names in no section":    func(b []byte) { binary.LittleEndian.PutUint16(b[62:], 0xfff0) },
		"names in another one":   func(b []byte) { binary.LittleEndian.PutUint16(b[62:], 1) },
		"more than there can be": func(b []byte) { binary.LittleEndian.PutUint16(b[60:], 0xfff0) },
	} {
		b := append([]byte(nil), code...)
		damage(b)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, gotID, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || gotID != id {
			t.Errorf("%s (-want +got):\n%s%s, %s", name, d, gotID, id)
		}
	}
}
