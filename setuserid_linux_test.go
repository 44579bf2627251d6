package kernstash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestSetUserIDEnvironment: a set-user-id program takes nothing from its
// user's environment: no trace is written with its rights, nothing stored.
func TestSetUserIDEnvironment(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can make a program run as root for another user")
	}
	dir, err := os.MkdirTemp("/tmp", "kernstash-setuid-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	if err := needs.WriteProgram(binary, self, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o755, 0o755 | os.ModeSetuid} {
		if err := os.Chmod(binary, mode); err != nil {
			t.Fatal(err)
		}
		place := filepath.Join(dir, "open")
		if mode&os.ModeSetuid != 0 {
			place = filepath.Join(dir, "roots") // as root, it could write here
			err = os.Mkdir(place, 0o755)
		} else if err = os.Mkdir(place, 0o777); err == nil {
			err = os.Chmod(place, 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		run := func() ([]byte, error) {
			c := exec.Command(binary)
			c.Env = []string{
				childVariable + "=source", "HOME=" + place, "KERNSTASH_TRACE=all",
				"KERNSTASH_TRACE_FILE=" + filepath.Join(place, "trace"), "KERNSTASH_DIR=" + filepath.Join(place, "cache"),
			}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			return c.CombinedOutput()
		}
		out, err := run()
		if err != nil || !strings.Contains(string(out), "binary of source") {
			t.Fatalf("mode %v: %v\n%s", mode, err, out)
		}
		list, err := os.ReadDir(place)
		if err != nil {
			t.Fatal(err)
		}
		if want := mode&os.ModeSetuid == 0; (len(list) == 2) != want || !want && len(list) != 0 {
			t.Errorf("mode %v: it made %v", mode, list)
		}
	}
}
