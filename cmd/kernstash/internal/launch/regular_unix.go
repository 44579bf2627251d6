//go:build unix

package launch

import (
	"os"
	"syscall"
)

// openRegular opens a regular file to read, through no link, and waits for nothing: what
// is there may be anybody's.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EINVAL}
	}
	return f, nil
}
