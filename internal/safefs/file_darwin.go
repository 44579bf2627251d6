package safefs

import "golang.org/x/sys/unix"

// SetMtime sets the modification time, in nanoseconds since 1970, to the
// microsecond.
func (f File) SetMtime(ns int64) error {
	tv := unix.NsecToTimeval(ns)
	return pathError("set time of", "file", f.hook.do(OpUtimens, func() error {
		return unix.Futimes(f.fd-1, []unix.Timeval{tv, tv})
	}))
}
