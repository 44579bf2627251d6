package safefs

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// publishUnnamed writes a file that has no name and then gives it one, so a
// writer that is killed leaves nothing. ext4 places such a file beside its
// directory, and all that begin in one directory beside that one, where it takes a
// millisecond to find room. It is errors.ErrUnsupported where the file system cannot.
func (d Dir) publishUnnamed(name string, mtime int64, contents [][]byte) error {
	if err := d.own(); err != nil {
		return pathError("create", name, err)
	}
	var fd int
	err := d.hook.do(OpTmpfile, func() (err error) {
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
	f := created(fd, d.hook)
	defer f.Close()
	if err := f.fill(mtime, contents); err != nil {
		return err
	}
	err = d.hook.do(OpLinkFD, func() error { return unix.Linkat(f.FD(), "", d.fd-1, name, unix.AT_EMPTY_PATH) })
	if err != nil && !errors.Is(err, unix.EEXIST) { // it needs a capability before Linux 6.10
		err = d.hook.do(OpLinkProc, func() error {
			return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(f.FD()), d.fd-1, name, unix.AT_SYMLINK_FOLLOW)
		})
	}
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
