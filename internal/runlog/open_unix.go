//go:build unix

package runlog

import (
	"os"
	"syscall"
)

// openAppend opens a file that is there, through no link, and waits for nothing.
func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
