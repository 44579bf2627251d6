package cache

import (
	"io"
	"net"
	"os"
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
