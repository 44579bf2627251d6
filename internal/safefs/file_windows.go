package safefs

import (
	"errors"
	"io"
	"unsafe"

	"golang.org/x/sys/windows"
)

func (f File) handle() windows.Handle { return windows.Handle(f.fd - 1) }

// Close ends the handle.
func (f File) Close() error { return pathError("close", "file", closeFD(f.fd-1, f.hook)) }

// Stat returns what the file is now.
func (f File) Stat() (i Info, err error) {
	err = f.hook.do(OpFstat, func() (err error) {
		i, err = ntInfoNow(f.handle())
		return err
	})
	return i, pathError("stat", "file", err)
}

func position(off int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(off), OffsetHigh: uint32(off >> 32)}
}

// most is how many bytes one call moves.
const most = 1 << 30

// ReadAt fills b from offset off on. A file that ends before that is
// [io.ErrUnexpectedEOF], with the number of bytes read.
func (f File) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		rest := b[done:]
		part, err := f.hook.limit(OpPread, rest[:min(len(rest), most)])
		var n uint32
		if err == nil && len(part) > 0 {
			err = windows.ReadFile(f.handle(), part, &n, position(off+int64(done)))
		}
		switch {
		case errors.Is(err, windows.ERROR_HANDLE_EOF), err == nil && n == 0:
			return done, io.ErrUnexpectedEOF
		case err != nil:
			return done, pathError("read", "file", err)
		}
		done += int(n)
	}
	return done, nil
}

// WriteAt writes all of b at offset off.
func (f File) WriteAt(b []byte, off int64) error {
	for len(b) > 0 {
		part, err := f.hook.limit(OpPwrite, b[:min(len(b), most)])
		var n uint32
		if err == nil && len(part) > 0 {
			err = windows.WriteFile(f.handle(), part, &n, position(off))
		}
		switch {
		case err != nil:
			return pathError("write", "file", err)
		case n == 0:
			return pathError("write", "file", io.ErrShortWrite)
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// basicInformation is FILE_BASIC_INFO; a time of 0 stays as it is.
type basicInformation struct {
	Creation, LastAccess, LastWrite, Change int64
	Attributes                              uint32
	_                                       uint32
}

// SetMtime sets the modification time, in nanoseconds since 1970, to 100 ns,
// and leaves the access time alone.
func (f File) SetMtime(ns int64) error {
	t := windows.NsecToFiletime(ns)
	info := basicInformation{LastWrite: int64(t.HighDateTime)<<32 | int64(t.LowDateTime)}
	return pathError("set time of", "file", f.hook.do(OpUtimens, func() error {
		return windows.SetFileInformationByHandle(f.handle(), windows.FileBasicInfo,
			(*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	}))
}

// Own is an error if the handle was closed by somebody else, which is not found
// out here.
func (f File) Own() error { return nil }
