package lock

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"

	"github.com/kernstash/kernstash/internal/safefs"
)

// beyond is added to all offsets. Locks of Windows keep others from reading
// and writing the bytes, and a tally is read while its slots are locked, so
// what is locked are bytes that no file has.
const beyond = 1 << 63

func place(offset int64) *windows.Overlapped {
	at := uint64(offset) | beyond
	return &windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
}

// Try takes n bytes from offset on for this handle, or ErrBusy. Handles of one
// process exclude each other too.
func Try(f safefs.File, offset, n int64) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := f.Before(safefs.OpLock)
	if err == nil {
		err = windows.LockFileEx(windows.Handle(f.FD()), flags, 0, uint32(n), uint32(n>>32), place(offset))
	}
	return answer(offset, err)
}

// Release gives back what Try took: the same bytes, no more and no less.
func Release(f safefs.File, offset, n int64) error {
	err := f.Before(safefs.OpLockFreed)
	if err == nil {
		err = windows.UnlockFileEx(windows.Handle(f.FD()), 0, uint32(n), uint32(n>>32), place(offset))
	}
	return answer(offset, err)
}

func answer(offset int64, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrBusy
	}
	return fmt.Errorf("lock byte %d: %w: %w", offset, ErrUnsupported, err)
}
