package loaded_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/loaded"
)

// What glibc 2.36 writes for `env tool` (cut), where tool is linked with liba, opens
// libb, and forks a child that opens libc2.
const written = `      7:	
      7:	file=libx.so.6 [0];  needed by /usr/bin/env [0]
      7:	calling init: /lib64/ld-linux-x86-64.so.2
      7:	calling init: /lib/libx.so.6
      7:	initialize program: /usr/bin/env
      7:	transferring control: /usr/bin/env
      7:	calling init: /lib64/ld-linux-x86-64.so.2
      7:	calling init: /lib/with: colon/liba.so
      7:	initialize program: tool
      7:	transferring control: tool
      7:	file=libb.so [0];  dynamically loaded by tool [0]
      7:	calling init: /opt/libb.so
      8:	calling init: /opt/libc2.so
      7:	calling fini:  [0]
      7:	calling init: /cut
`

func TestRead(t *testing.T) {
	t.Parallel()
	// A name of what patterns are made of.
	dir := filepath.Join(t.TempDir(), "[x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ld.7": written, "ld.9": "      9:\tinitialize program: tool\n", "other": "calling init: /x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := loaded.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &loaded.Report{
		Programs: []loaded.Object{{Path: "/usr/bin/env"}, {Path: "tool"}},
		Libraries: []loaded.Object{
			{Path: "/cut", By: []string{"tool"}},
			{Path: "/lib/libx.so.6", By: []string{"/usr/bin/env"}},
			{Path: "/lib/with: colon/liba.so", By: []string{"tool"}},
			{Path: "/opt/libb.so", By: []string{"tool"}},
			{Path: "/opt/libc2.so", By: []string{"tool"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The dynamic linker of this machine writes what is read here.
func TestReadOfThisLinker(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/lib64/ld-linux-x86-64.so.2"); err != nil {
		t.Skipf("no glibc for x86-64 here, whose report this reads: %v", err)
	}
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", "/bin/true; exec /bin/true")
	cmd.Env = append(os.Environ(), loaded.Variables(dir)...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := loaded.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, p := range got.Programs {
		programs = append(programs, p.Path)
	}
	if diff := cmp.Diff([]string{"/bin/sh", "/bin/true"}, programs); diff != "" {
		t.Error(diff)
	}
	i := slices.IndexFunc(got.Libraries, func(o loaded.Object) bool { return filepath.Base(o.Path) == "libc.so.6" })
	if i < 0 {
		t.Fatalf("no libc.so.6 among %v", got.Libraries)
	}
	by := slices.Sorted(slices.Values(got.Libraries[i].By))
	if diff := cmp.Diff([]string{"/bin/sh", "/bin/true"}, by); diff != "" {
		t.Error(diff)
	}
}
