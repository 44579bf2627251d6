package doctor

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// fileSystemOf tells the kind of volume and the space that the user may use.
func fileSystemOf(dir string) (fileSystem, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return fileSystem{}, err
	}
	var root [windows.MAX_PATH + 1]uint16
	if err := windows.GetVolumePathName(path, &root[0], uint32(len(root))); err != nil {
		return fileSystem{}, err
	}
	var kind [64]uint16
	if err := windows.GetVolumeInformation(&root[0], nil, 0, nil, nil, nil, &kind[0], uint32(len(kind))); err != nil {
		return fileSystem{}, err
	}
	f := fileSystem{kind: windows.UTF16ToString(kind[:])}
	switch windows.GetDriveType(&root[0]) {
	case windows.DRIVE_REMOTE:
		f.network = true
	case windows.DRIVE_RAMDISK:
		f.memory = true
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return fileSystem{}, err
	}
	f.free = int64(free)
	return f, nil
}

func ownerOf(fs.FileInfo) string { return "unknown" }

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
