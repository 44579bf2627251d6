//go:build linux || darwin

package beneath

import (
	"io"

	"golang.org/x/sys/unix"
)

// Close ends the descriptor.
func (f File) Close() error { return pathError("close", "file", unix.Close(f.fd-1)) }

// Stat returns what the file is now.
func (f File) Stat() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd-1, &st); err != nil {
		return Info{}, pathError("stat", "file", err)
	}
	return info(&st), nil
}

// ReadAt fills b from offset off on. A file that ends before that is
// [io.ErrUnexpectedEOF], with the number of bytes read.
func (f File) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Pread(f.fd-1, b[done:], off+int64(done))
			return err
		})
		if err != nil {
			return done, pathError("read", "file", err)
		}
		if n == 0 {
			return done, io.ErrUnexpectedEOF
		}
		done += n
	}
	return done, nil
}

// WriteAt writes all of b at offset off.
func (f File) WriteAt(b []byte, off int64) error {
	for len(b) > 0 {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Pwrite(f.fd-1, b, off)
			return err
		})
		if err != nil {
			return pathError("write", "file", err)
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}
