package ownmounts

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMountsGo: what a test mounts is not there for others, and goes with its process,
// which leaves it mounted here.
func TestMountsGo(t *testing.T) {
	const variable = "KERNSTASH_TEST_MOUNT_AT"
	at := os.Getenv(variable)
	if at == "" {
		at = t.TempDir()
		t.Setenv(variable, at)
	}
	if Here(t) {
		if out, err := exec.Command("mount", "-t", "tmpfs", "tmpfs", at).CombinedOutput(); err != nil {
			t.Skipf("NOT RUN: no tmpfs can be mounted here: %v: %s", err, out)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(at, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
			t.Errorf("nothing is mounted: %v", err)
		}
		if err := os.WriteFile(at+"/file", nil, 0o600); err != nil {
			t.Error(err)
		}
		return
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), at) {
		t.Error("it is mounted for others")
	}
	if _, err := os.Stat(at + "/file"); err == nil {
		t.Error("it was written beside the mount")
	}
}
