//go:build linux || darwin

package safefs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/safefs"
)

// A host that closes descriptors that it does not know, and has files and directories
// of its own under their numbers, finds nothing written to them, made in them, or
// closed.
func TestDescriptorsOfOthers(t *testing.T) {
	t.Parallel()
	root, theirs := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(theirs, "file"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _, err := safefs.OpenRoot(root, safefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := d.OpenWrite("file")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(theirs, "file"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Their file under our number, as dup2 gives it in one step.
	if err := dup(int(file.Fd()), f.FD()); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"write": f.WriteAt([]byte("OURS"), 0), "own": f.Own(), "close": f.Close(), "stat": second(f.Stat()),
	} {
		if !errors.Is(err, unix.EBADF) {
			t.Errorf("%s of their file: %v", name, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(theirs, "file")); err != nil || string(got) != "theirs" {
		t.Errorf("their file holds %q, %v", got, err)
	}
	if err := unix.Fsync(f.FD()); err != nil {
		t.Errorf("their descriptor: %v", err)
	}
	_ = unix.Close(f.FD())

	dir, err := os.Open(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	number := dirFD(t, root)
	if err := dup(int(dir.Fd()), number); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"make": second(d.Create("new")), "mkdir": second(d.Mkdir("new")), "publish": d.Publish(d, "new", false, 0, []byte("x")),
		"replace": d.Publish(d, "new", true, 0, []byte("x")), "remove": d.Remove("file"), "rmdir": d.Rmdir("new"),
		"rename": d.Rename("file", d, "new"), "stat": second(d.Stat()), "close": d.Close(),
	} {
		if !errors.Is(err, unix.EBADF) {
			t.Errorf("%s in their directory: %v", name, err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(theirs, "*")); err != nil || len(names) != 1 {
		t.Errorf("their directory holds %v, %v", names, err)
	}
	if err := unix.Close(number); err != nil {
		t.Errorf("their descriptor: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// dirFD returns the descriptor of a directory that this process has open.
func dirFD(t *testing.T, path string) int {
	t.Helper()
	var want unix.Stat_t
	if err := unix.Stat(path, &want); err != nil {
		t.Fatal(err)
	}
	for fd := range 1024 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino {
			return fd
		}
	}
	t.Fatalf("%s is not open", path)
	return -1
}
