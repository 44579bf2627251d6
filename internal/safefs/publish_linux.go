package safefs

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// viaProc is set once linking by descriptor was refused: before Linux 6.10 it
// needs a capability, and the path in /proc does the same.
var viaProc atomic.Bool

// publishUnnamed writes a file that has no name and then gives it one, so a
// writer that is killed leaves nothing. It is errors.ErrUnsupported where the
// file system cannot.
func (d Dir) publishUnnamed(name string, mtime int64, contents [][]byte) error {
	if err := d.own(); err != nil {
		return pathError("create", name, err)
	}
	var fd int
	err := d.o.Hook.do(OpTmpfile, func() (err error) {
		fd, err = unix.Openat(d.fd-1, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		return err
	})
	switch {
	case err != nil && d.gone():
		return pathError("create", name, unix.ENOENT) // ext4 says EPERM
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR),
		errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
		return fmt.Errorf("file without a name: %w", errors.ErrUnsupported)
	case err != nil:
		return pathError("create", name, err)
	}
	f := File{fd + 1, d.o.Hook, identity{}}
	defer f.Close()
	f.unmask()
	if err := f.fill(mtime, contents); err != nil {
		return err
	}
	if !viaProc.Load() {
		err := d.o.Hook.do(OpLinkFD, func() error { return unix.Linkat(fd, "", d.fd-1, name, unix.AT_EMPTY_PATH) })
		if err == nil || errors.Is(err, unix.EEXIST) {
			return pathError("link", name, err)
		}
	}
	err = d.o.Hook.do(OpLinkProc, func() error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), d.fd-1, name, unix.AT_SYMLINK_FOLLOW)
	})
	switch {
	case err == nil:
		d.forgo(&viaProc)
		return nil
	case errors.Is(err, unix.EEXIST):
		return pathError("link", name, err)
	}
	if d.gone() {
		return pathError("link", name, unix.ENOENT)
	}
	// No /proc.
	return fmt.Errorf("file without a name: %w", errors.ErrUnsupported)
}

// gone says whether d was removed.
func (d Dir) gone() bool {
	info, err := d.Stat()
	return err == nil && info.Links == 0
}
