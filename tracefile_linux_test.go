package kernstash

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTraceFile: the trace is appended to a file of one's own, or made; what
// else has the name is neither followed nor waited for nor written to.
func TestTraceFile(t *testing.T) {
	t.Parallel()
	const text = "precious\n"
	for name, test := range map[string]struct {
		make func(t *testing.T, path, victim string) error
		want bool
	}{
		"absent":        {func(*testing.T, string, string) error { return nil }, true},
		"own":           {func(_ *testing.T, p, _ string) error { return os.WriteFile(p, []byte(text), 0o600) }, true},
		"link":          {func(_ *testing.T, p, v string) error { return os.Symlink(v, p) }, false},
		"dangling link": {func(_ *testing.T, p, v string) error { return os.Symlink(v+".new", p) }, false},
		"hard link":     {func(_ *testing.T, p, v string) error { return os.Link(v, p) }, false},
		"FIFO":          {func(_ *testing.T, p, _ string) error { return syscall.Mkfifo(p, 0o600) }, false},
		"FIFO that is read": {func(t *testing.T, p, _ string) error {
			if err := syscall.Mkfifo(p, 0o600); err != nil {
				return err
			}
			f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			t.Cleanup(func() { f.Close() })
			return err
		}, false},
		"socket": {func(t *testing.T, p, _ string) error {
			l, err := net.Listen("unix", p)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		}, false},
		"directory": {func(_ *testing.T, p, _ string) error { return os.Mkdir(p, 0o700) }, false},
		"of another user": {func(t *testing.T, p, _ string) error {
			if os.Geteuid() != 0 {
				t.Skip("NOT RUN: only root can give a file to another user")
			}
			if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
				return err
			}
			return os.Chown(p, 12345, 12345)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "ks-") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path, victim := filepath.Join(dir, "trace"), filepath.Join(dir, "victim")
			if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := test.make(t, path, victim); err != nil {
				t.Fatal(err)
			}
			done := time.AfterFunc(3*time.Minute, func() { panic("it hangs: " + t.Name()) })
			defer done.Stop()
			f, err := openTrace(path)
			if (err == nil) != test.want {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				_, _ = io.WriteString(f, "line\n")
				f.Close()
				b, _ := os.ReadFile(path)
				if got := strings.TrimPrefix(string(b), text); got != "line\n" {
					t.Errorf("the file holds %q", b)
				}
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != text {
				t.Errorf("the victim holds %q, %v", b, err)
			}
			if _, err := os.Lstat(victim + ".new"); err == nil {
				t.Error("a link was followed to make a file")
			}
		})
	}
}

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
	if err := os.WriteFile(binary, self, 0o700); err != nil {
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
		for range 50 {
			if !errors.Is(err, syscall.ETXTBSY) {
				break
			}
			// A child that another test is just starting has it open yet.
			time.Sleep(20 * time.Millisecond)
			out, err = run()
		}
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
