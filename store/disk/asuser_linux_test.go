package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// Roles that there are on Linux only.
func init() {
	roles["reason"] = roleReason
	roles["starved"] = roleStarved
	roles["umask"] = roleUmask
	roles["layer"] = roleLayer
}

// asUser runs f without privileges: at once where there are none, else in
// another process that runs the same test as user 65534.
func asUser(t *testing.T, f func(t *testing.T), env ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		f(t)
		return
	}
	// The test's own temporary directory is below one that only root enters.
	dir, err := os.MkdirTemp("/tmp", "kernstash-user-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chown(dir, 65534, 65534))
	self, err := os.ReadFile(os.Args[0])
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, needs.WriteProgram(binary, self, 0o755))
	c := exec.Command(binary, "-test.run", "^"+t.Name()+"$", "-test.count=1")
	c.Dir = dir
	c.Env = append(append(os.Environ(), roleVar+"=user", "TMPDIR="+dir, "GOCOVERDIR="+dir), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
}
