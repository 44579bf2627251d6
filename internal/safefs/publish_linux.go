package safefs

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

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
	// By descriptor it needs a capability before Linux 6.10.
	err = d.o.Hook.do(OpLinkProc, func() error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), d.fd-1, name, unix.AT_SYMLINK_FOLLOW)
	})
	switch {
	case err == nil, errors.Is(err, unix.EEXIST):
		return pathError("link", name, err)
	case d.gone():
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
