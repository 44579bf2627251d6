//go:build linux

package disk

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestFileCapabilities: the tier is off in a program whose file gives it a
// capability that its user has not.
func TestFileCapabilities(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give a file capabilities")
	}
	dir, err := os.MkdirTemp("/tmp", "kernstash-caps-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	self, err := os.ReadFile(os.Args[0])
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, needs.WriteProgram(binary, self, 0o755))
	run := func() string {
		c := exec.Command(binary, filepath.Join(dir, "root"), "0")
		c.Env = []string{roleVar + "=reason"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Skip("NOT RUN: ", err, string(out))
		}
		return string(out)
	}
	if out := run(); strings.Contains(out, "rights") {
		t.Fatalf("without capabilities: %s", out)
	}
	if err := unix.Setxattr(binary, "security.capability", capability(unix.CAP_NET_BIND_SERVICE), 0); err != nil {
		t.Skip("NOT RUN: no file capabilities here:", err)
	}
	if out := run(); !strings.Contains(out, "rights") {
		t.Errorf("with a capability the reason is %q", out)
	}
}

// capability is the attribute of a file that gives one capability, effective
// (struct vfs_cap_data, revision 2).
func capability(n int) []byte {
	b := make([]byte, 20)
	binary.LittleEndian.PutUint32(b, 0x02000001)
	binary.LittleEndian.PutUint32(b[4:], 1<<n)
	return b
}

func roleReason(s *Store, _ int) error {
	fmt.Println(s.Status().Reason)
	return nil
}
