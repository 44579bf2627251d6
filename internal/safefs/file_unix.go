//go:build linux || darwin

package safefs

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// Before asks the hook of f about a call that is made elsewhere.
func (f File) Before(op Op) error { return f.hook.ask(op) }

// Close ends the descriptor.
func (f File) Close() error {
	if err := f.own(); err != nil {
		return pathError("close", "file", err)
	}
	return pathError("close", "file", closeFD(f.fd-1, f.hook))
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

// Stat returns what the file is now.
func (f File) Stat() (Info, error) {
	var st unix.Stat_t
	if err := f.hook.do(OpFstat, func() error { return unix.Fstat(f.fd-1, &st) }); err != nil {
		return Info{}, pathError("stat", "file", err)
	}
	if f.id != (identity{}) && identityOf(&st) != f.id {
		return Info{}, pathError("stat", "file", errForeign)
	}
	return info(&st), nil
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

// unmask gives a new file its mode, whatever the process's umask took of it:
// under an odd one the owner could not read what it stored. Where that fails,
// the file is one that cannot be read, and replaced one day.
func (f File) unmask() {
	if info, err := f.Stat(); err == nil && info.Perm != 0o600 {
		_ = f.hook.do(OpChmod, func() error { return unix.Fchmod(f.fd-1, 0o600) })
	}
}
