//go:build unix

package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/kernstash/kernstash/internal/wrote"
)

// openTrace opens the file that the trace is appended to. In a directory that
// others may write to, the name may be another's: the trace goes to no link, to
// nothing that could make the program wait, and to no file of another user, or
// that is somebody's under another name.
func openTrace(path string) (io.WriteCloser, error) {
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
	return &traceFile{f, info}, nil
}

// traceFile is the file of the trace as long as its descriptor is: a host may close
// all that it does not know, and have files of its own under their numbers.
type traceFile struct {
	f  *os.File
	is fs.FileInfo
}

func (t *traceFile) own() error {
	now, err := t.f.Stat()
	if err == nil && !os.SameFile(now, t.is) {
		err = fs.ErrClosed
	}
	return err
}

func (t *traceFile) Write(b []byte) (int, error) {
	if err := t.own(); err != nil {
		return 0, err
	}
	n, err := t.f.Write(b)
	wrote.Look(err)
	return n, err
}

func (t *traceFile) Close() error {
	if err := t.own(); err != nil {
		lostTraces.Store(t, nil) // else Go closes it when nobody refers to it any more
		return err
	}
	return t.f.Close()
}

var lostTraces sync.Map

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
