package trust

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/ownmounts"
)

// TestListOnAMountedVolume: a directory with the mode of Kubernetes' volumes counts where it is mounted
// read-only, and does not where it is not.
func TestListOnAMountedVolume(t *testing.T) {
	if !ownmounts.Here(t) {
		return
	}
	k := keys(t, 2)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=1777"); err != nil {
		t.Skipf("NOT RUN: not mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := os.Mkdir(dir+"/..2026", 0o755); err != nil {
		t.Fatal(err)
	}
	write1(t, dir+"/..2026", "key.pem", pemOf(t, k[0]))
	for name, to := range map[string]string{"..data": "..2026", "key.pem": "..data/key.pem"} {
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if got := stateOf(Open(dir, false), k[0], k[1]); got != "false false" {
		t.Errorf("writable: %s", got)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	l := Open(dir, false)
	if got := stateOf(l, k[0], k[1]); got != "true false" {
		t.Errorf("read-only: %s, %v", got, l.Err())
	}
}
