//go:build linux && !nogpu

package elfid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
)

// TestClosureOfARenamedFile: a library whose file has another name than its soname, which
// is a link, belongs to the closure, as libLLVM of Debian 13 does.
func TestClosureOfARenamedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	compile := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("cc", append([]string{"-shared", "-x", "c", "/dev/null"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	inner, link, outer := filepath.Join(dir, "libks-inner-18.so.1"), filepath.Join(dir, "libks-inner-18.so.18.1"), filepath.Join(dir, "libks-outer.so.1")
	compile("-Wl,-soname,"+filepath.Base(link), "-o", inner)
	if err := os.Symlink(filepath.Base(inner), link); err != nil {
		t.Fatal(err)
	}
	compile("-Wl,-soname,libks-outer.so.1,-rpath,"+dir, "-o", outer, "-Wl,--no-as-needed", "-x", "none", link)
	if _, err := dl.Open(outer); err != nil {
		t.Fatal(err)
	}
	all, err := elfid.Loaded().Closure([]string{outer}, func(soname string) bool { return strings.HasPrefix(soname, "libks-") })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range all {
		got = append(got, l.Soname)
	}
	if diff := cmp.Diff([]string{"libks-inner-18.so.18.1", "libks-outer.so.1"}, got); diff != "" {
		t.Errorf("closure (-want +got):\n%s", diff)
	}
}
