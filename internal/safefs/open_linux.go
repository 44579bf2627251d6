package safefs

import (
	"errors"
	"sync/atomic"

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
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN) && try < 8: // a rename met it; or somebody has a lease
			continue
		case errors.Is(err, unix.ENOSYS):
			d.forgo()
			return d.openStep(path, flags)
		case errors.Is(err, unix.EPERM): // a sandbox, or this one file
			fd, err := d.openStep(path, flags)
			if err == nil {
				d.forgo()
			}
			return fd, err
		}
		return fd, err
	}
}

// forgo remembers for this process that openat2 does not work here. What a hook says is
// true of its directory only.
func (d Dir) forgo() {
	if d.hook == nil {
		noOpenat2.Store(true)
	}
}
