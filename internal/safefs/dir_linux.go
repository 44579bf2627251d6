package safefs

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noOpenat2 is set once the kernel (before 5.6) or a sandbox has refused it.
var noOpenat2 atomic.Bool

func (d Dir) open(path string, flags int) (int, error) {
	if d.o.NoOpenat2 || noOpenat2.Load() {
		return d.openStep(path, flags)
	}
	how := unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for try := 0; ; try++ {
		fd, err := -1, d.hook.ask(OpOpenat2)
		if err == nil {
			fd, err = unix.Openat2(d.fd-1, path, &how)
		}
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN) && try < 8: // a rename met it; or a lease
			continue
		case errors.Is(err, unix.ENOSYS):
			d.rememberNoOpenat2()
			return d.openStep(path, flags)
		case errors.Is(err, unix.EPERM): // a sandbox, or this one file
			fd, err := d.openStep(path, flags)
			if err == nil {
				d.rememberNoOpenat2()
			}
			return fd, err
		}
		return fd, err
	}
}

// rememberNoOpenat2 remembers for this process that openat2 does not work here. What a hook says is
// true of its directory only.
func (d Dir) rememberNoOpenat2() {
	if d.hook == nil {
		noOpenat2.Store(true)
	}
}

// SetMtime sets the modification time, in nanoseconds since 1970, and leaves
// the access time alone. The owner may do that without write permission.
func (f File) SetMtime(ns int64) error {
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ns)}
	// utimensat with no path at all is futimens, which x/sys does not have.
	return pathError("set time of", "file", f.hook.do(OpUtimens, func() error {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.fd-1), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}))
}

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

// gone reports whether d was removed.
func (d Dir) gone() bool {
	info, err := d.Stat()
	return err == nil && info.Links == 0
}
