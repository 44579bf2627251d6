//go:build linux || darwin

package lock

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/safefs"
)

func fcntl(f safefs.File, offset, n int64, kind int16, op safefs.Op) error {
	for {
		lk := unix.Flock_t{Type: kind, Whence: unix.SEEK_SET, Start: offset, Len: n}
		err := f.Before(op)
		if err == nil {
			err = f.Own()
		}
		if err == nil {
			err = unix.FcntlFlock(uintptr(f.FD()), setlk, &lk)
		}
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil:
			return nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return ErrBusy
		default:
			return fmt.Errorf("lock byte %d: %w: %w", offset, ErrUnsupported, err)
		}
	}
}

// Try takes n bytes from offset on for this description, or ErrBusy.
func Try(f safefs.File, offset, n int64) error {
	return fcntl(f, offset, n, unix.F_WRLCK, safefs.OpLock)
}

// Release gives back what Try took.
func Release(f safefs.File, offset, n int64) error {
	return fcntl(f, offset, n, unix.F_UNLCK, safefs.OpLockFreed)
}
