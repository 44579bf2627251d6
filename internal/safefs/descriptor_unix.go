//go:build linux || darwin

package safefs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// descriptor is that of a directory or a file. The zero descriptor is not open.
type descriptor struct {
	fd   int // descriptor + 1, so that the zero value is not descriptor 0
	hook *Hook
	id   identity
}

// IsOpen says whether it was opened. It does not know of Close.
func (f descriptor) IsOpen() bool { return f.fd != 0 }

// FD returns the number, which f keeps.
func (f descriptor) FD() int { return f.fd - 1 }

// Before asks the hook of f about a call that is made elsewhere.
func (f descriptor) Before(op Op) error { return f.hook.ask(op) }

// Stat returns what is open now.
func (f descriptor) Stat() (Info, error) {
	var st unix.Stat_t
	if err := f.hook.do(OpFstat, func() error { return unix.Fstat(f.fd-1, &st) }); err != nil {
		return Info{}, pathError("stat", "file", err)
	}
	if f.id != (identity{}) && identityOf(&st) != f.id {
		return Info{}, pathError("stat", "file", errForeign)
	}
	return info(&st), nil
}

// Close ends the descriptor.
func (f descriptor) Close() error {
	if err := f.own(); err != nil {
		return pathError("close", "file", err)
	}
	return pathError("close", "file", closeFD(f.fd-1, f.hook))
}

// Own is an error if the descriptor was closed by somebody else.
func (f descriptor) Own() error { return pathError("use", "file", f.own()) }

func (f descriptor) own() error {
	if f.id == (identity{}) {
		return nil
	}
	var st unix.Stat_t
	for {
		switch err := unix.Fstat(f.fd-1, &st); {
		case errors.Is(err, unix.EINTR): // on FUSE, and says nothing about the descriptor
		case err != nil || identityOf(&st) != f.id:
			return errForeign
		default:
			return nil
		}
	}
}

// identity is what a descriptor was opened as, where it is kept; zero: not known. In a
// process that is not ours somebody may close all descriptors, and open files of his
// own: nothing is to be written to them, made in them, or closed.
type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity { return identity{uint64(st.Dev), st.Ino} }

// identify keeps what was just opened, and returns what that is; nothing where it cannot be told.
func (f *descriptor) identify() Info {
	info, err := f.Stat()
	if err == nil {
		f.id = identity{info.Dev, info.Ino}
	}
	return info
}

// errForeign is that of a descriptor which somebody else has closed, and which may be
// another file of the process by now.
var errForeign = fmt.Errorf("not the descriptor that it was: %w", unix.EBADF)

// standard is how many descriptors have a meaning for every program.
const standard = 3

// high returns a descriptor that is not one of the standard ones, in the place of fd:
// where a program has closed those, it may still write to them.
func high(fd int) int {
	if fd >= standard {
		return fd
	}
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, standard)
	if err != nil {
		return fd
	}
	_ = unix.Close(fd)
	return moved
}
