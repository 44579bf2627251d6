package doctor

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

func ownerOf(fs.FileInfo) string { return "unknown" }

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
