//go:build unix

package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openDir opens the directory of a list. errNone: there is none.
func openDir(dir string) (*os.File, error) {
	f, err := open(dir, func(m fs.FileMode) bool { return m.IsDir() }, "not a directory")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNone
	}
	return f, err
}

// openFile opens a file of a list. Links are followed, since Kubernetes mounts files by links; what
// they lead to is looked at.
func openFile(path string) (*os.File, error) {
	return open(path, fs.FileMode.IsRegular, "not a regular file")
}

// hold keeps other processes from changing the list of a directory until release is called. Where a file system has
// no locks, or somebody has one for seconds, it goes on without.
func hold(dir string) (release func()) {
	const tries, pause = 500, 10 * time.Millisecond
	f, err := openDir(dir)
	if err != nil {
		return func() {}
	}
	for range tries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		time.Sleep(pause)
	}
	return func() { f.Close() }
}

// open opens what the user or root owns, and others may not write. It waits for nothing.
func open(path string, wanted func(fs.FileMode) bool, otherwise string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !wanted(info.Mode()) {
		err = errors.New(otherwise)
	}
	if err == nil {
		err = checkWriters(info, func() bool { return readOnly(f) })
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkWriters returns an error where others than the user and root may write what info describes.
func checkWriters(info fs.FileInfo, readOnly func() bool) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner cannot be told")
	}
	if user := uint32(os.Geteuid()); st.Uid != user && st.Uid != 0 {
		return fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 && !readOnly() {
		return fmt.Errorf("others may write it (mode %04o); run: chmod go-w", info.Mode().Perm())
	}
	return nil
}

// readOnly reports whether a file lies where nothing can be written, whatever its mode says.
func readOnly(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) == nil && st.Flags&readOnlyFlag != 0
}
