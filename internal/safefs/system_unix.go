//go:build unix

package safefs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ReadSystem returns what a file of the kernel's own says, as of /proc. It is [os.ReadFile] without an os.File, whose
// first one makes what Go needs to wait for files that are not ready: a first hit has use for none.
func ReadSystem(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 2048)
	for {
		switch n, err := unix.Read(fd, b[len(b):cap(b)]); {
		case err == unix.EINTR:
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", path, err)
		case n == 0:
			return b, nil
		default:
			if b = b[:len(b)+n]; len(b) == cap(b) {
				b = append(b, 0)[:len(b)]
			}
		}
	}
}
