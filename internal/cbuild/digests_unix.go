//go:build unix

package cbuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Digests has a cache that a test is about to make begin with the digests of compilers that the
// processes of earlier tests have read (docs/decisions/030), and keeps those that are new. Without
// it the first process of each cache reads hundreds of megabytes. root lies in a directory of the test.
func Digests(t testing.TB, root string) {
	t.Helper()
	module, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	in, err := forAll(module)
	if err != nil {
		return
	}
	// A test that looked at the kept file itself would depend on it (see dependOn).
	script := func(text string) {
		cmd := exec.Command("sh", "-euc", text, "sh", filepath.Join(in, "digests"), filepath.Join(root, ".meta"), os.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("digests of %s: %v\n%s", root, err, out)
		}
	}
	script(`umask 077; mkdir -p "$2"; cp "$1" "$2/files" 2>/dev/null || rm -f "$2/files"`)
	t.Cleanup(func() {
		script(`size() { stat -c %s "$1" 2>/dev/null || echo 0; }
			if [ "$(size "$2/files")" -gt "$(size "$1")" ] && ! grep -qF " $3/" "$2/files"; then
				cp "$2/files" "$1.$$" && mv "$1.$$" "$1"
			fi`)
	})
}
