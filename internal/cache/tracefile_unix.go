//go:build unix

package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openTrace opens the file that the trace is appended to. In a directory that
// others may write to, the name may be another's: the trace goes to no link, to
// nothing that could make the program wait, and to no file of another user, or
// that is somebody's under another name.
func openTrace(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkTrace(info)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

func checkTrace(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case st.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("belongs to user %d", st.Uid)
	case st.Nlink > 1:
		return errors.New("has other names")
	}
	return nil
}
