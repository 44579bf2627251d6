package inprocess

import (
	"io/fs"
	"syscall"
)

// readProc returns the content of a file below /proc, by no more than the system calls
// that it takes: package os asks each file that it opens whether it can be waited for.
func readProc(path string) ([]byte, error) {
	fd, err := retried(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	for b := make([]byte, 0, 16<<10); ; {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := retried(func() (int, error) { return syscall.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return b, nil
		}
		b = b[:len(b)+n]
	}
}

// retried makes a system call again that a signal interrupted.
func retried(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}
