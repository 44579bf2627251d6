package safefs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// utimeOmit leaves a time as it is (UTIME_OMIT).
const utimeOmit = 1<<30 - 2

// SetMtime sets the modification time, in nanoseconds since 1970, and leaves
// the access time alone. The owner may do that without write permission.
func (f File) SetMtime(ns int64) error {
	times := [2]unix.Timespec{{Nsec: utimeOmit}, unix.NsecToTimespec(ns)}
	// utimensat with no path at all is futimens, which x/sys does not have.
	return pathError("set time of", "file", f.hook.do(OpUtimens, func() error {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.fd-1), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}))
}
