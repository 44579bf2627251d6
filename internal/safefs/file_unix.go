//go:build linux || darwin

package safefs

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

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
