//go:build linux || darwin

package safefs

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// descriptor is that of a directory or a file. The zero descriptor is not open.
type descriptor struct {
	fd   int // descriptor + 1, so that the zero value is not descriptor 0
	hook *Hook
	id   identity
}

func (f descriptor) IsOpen() bool       { return f.fd != 0 }      // it does not know of Close
func (f descriptor) FD() int            { return f.fd - 1 }       // which f keeps
func (f descriptor) Before(op Op) error { return f.hook.ask(op) } // of a call that is made elsewhere

// Stat returns what is open now.
func (f descriptor) Stat() (Info, error) {
	var st unix.Stat_t
	if err := f.hook.do(OpFstat, func() error { return unix.Fstat(f.fd-1, &st) }); err != nil {
		return Info{}, pathError("stat", "file", err)
	}
	if f.id != (identity{}) && identityOf(&st) != f.id {
		return Info{}, pathError("stat", "file", foreignError{})
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
			return foreignError{}
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

// foreignError is that of a descriptor which somebody else has closed, and which may be
// another file of the process by now. It is EBADF.
type foreignError struct{}

func (foreignError) Error() string { return "not the descriptor that it was: " + unix.EBADF.Error() }
func (foreignError) Unwrap() error { return unix.EBADF }

// Received returns the file of a descriptor that somebody has sent. File closes it.
func Received(fd int) File {
	f := File{descriptor{fd: fd + 1}}
	f.identify()
	return f
}

// Opened returns a descriptor of the process that is a socket, say: one that is not a standard
// one, that knows when the process closes it and opens something else, and that fd becomes.
func Opened(fd int) File { return Received(high(fd)) }

// high returns a descriptor that is not one of the standard ones, which have a meaning for every
// program, in the place of fd: where a program has closed those, it may still write to them.
func high(fd int) int {
	const standard = 3
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

// closeFD ends a descriptor, whatever the answer: a close that fails, or that
// a signal interrupts, has ended it too.
func closeFD(fd int, h *Hook) error {
	fault := h.ask(OpClose)
	if err := unix.Close(fd); err != nil {
		return err
	}
	return fault
}

// ReadAt fills b from offset off on. A file that ends before that is
// [io.ErrUnexpectedEOF], with the number of bytes read.
func (f File) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		part, err := f.hook.limit(OpPread, b[done:])
		var n int
		if err == nil {
			n, err = unix.Pread(f.fd-1, part, off+int64(done))
		}
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return done, pathError("read", "file", err)
		case n == 0:
			return done, io.ErrUnexpectedEOF
		}
		done += n
	}
	return done, nil
}

// WriteAt writes all of b at offset off.
func (f File) WriteAt(b []byte, off int64) error {
	if err := f.own(); err != nil {
		return pathError("write", "file", err)
	}
	for len(b) > 0 {
		part, err := f.hook.limit(OpPwrite, b)
		var n int
		if err == nil {
			n, err = unix.Pwrite(f.fd-1, part, off)
		}
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return pathError("write", "file", err)
		case n == 0:
			return pathError("write", "file", io.ErrShortWrite) // or it would go on for ever
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// created returns the file that was just made as fd, with its mode, whatever the process's
// umask took of that: under an odd one the owner could not read what it stored. Where
// that fails, the file is one that cannot be read, and replaced one day.
func created(fd int, h *Hook) File {
	f := File{descriptor{fd: high(fd) + 1, hook: h}}
	if info := f.identify(); info.Perm != 0o600 {
		_ = h.do(OpChmod, func() error { return unix.Fchmod(f.fd-1, 0o600) })
	}
	return f
}
