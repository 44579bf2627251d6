package elfid

import (
	"io"
	"io/fs"
	"syscall"
)

// library is an open file. What package os adds to that, five system calls to see
// whether it can be waited for, is more than what is read of a library.
type library int

func openLibrary(path string) (library, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			return library(fd), nil
		}
		if err != syscall.EINTR {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// ReadAt implements io.ReaderAt.
func (l library) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		more, err := syscall.Pread(int(l), b[n:], at+int64(n))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return n, err
		case more == 0:
			return n, io.EOF
		default:
			n += more
		}
	}
	return n, nil
}

// Read implements io.Reader: what follows what was read before.
func (l library) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(l), b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close implements io.Closer.
func (l library) Close() error { return syscall.Close(int(l)) }
