//go:build linux || darwin

package safefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

func identityOf(st *unix.Stat_t) identity { return identity{uint64(st.Dev), st.Ino} }

// holds says whether a descriptor is still what it was opened as.
func (id identity) holds(fd int) bool {
	if id == (identity{}) {
		return true
	}
	var st unix.Stat_t
	for {
		// A signal interrupts it on FUSE, which says nothing about the descriptor.
		if err := unix.Fstat(fd, &st); !errors.Is(err, unix.EINTR) {
			return err == nil && identityOf(&st) == id
		}
	}
}

// errForeign is that of a descriptor which somebody else has closed, and which may be
// another file of the process by now.
const errForeign = foreignError("not the descriptor that it was: ")

type foreignError string

func (e foreignError) Error() string { return string(e) + unix.EBADF.Error() }
func (foreignError) Unwrap() error   { return unix.EBADF }

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

func (d Dir) own() error {
	if !d.id.holds(d.fd - 1) {
		return errForeign
	}
	return nil
}

// Own is an error if the descriptor was closed by somebody else.
func (f File) Own() error { return pathError("use", "file", f.own()) }

func (f File) own() error {
	if !f.id.holds(f.fd - 1) {
		return errForeign
	}
	return nil
}
