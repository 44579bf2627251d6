//go:build unix

package runlog

import (
	"os"
	"strings"
	"syscall"
)

// openAppend opens a file that is there, and waits for nothing. It follows no link but one
// of /proc to the memory of a run: who outlives a run finds another process there, or none.
func openAppend(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_APPEND | syscall.O_NONBLOCK
	if !strings.HasPrefix(path, "/proc/") {
		return os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0)
	}
	target, err := os.Readlink(path)
	if err == nil && !strings.HasPrefix(target, "/memfd:"+MemoryName) {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0)
}
