package safefs

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

const supported = true

// anyone is the owner of every file here: whom a root may belong to is decided
// by its access control list, see [Dir.Distrust].
const anyone = ^uint32(0)

// standardInformation is FILE_STANDARD_INFO.
type standardInformation struct {
	AllocationSize, EndOfFile int64
	NumberOfLinks             uint32
	DeletePending, Directory  bool
}

// infoOf says what a file is; without links, if its last name is removed.
func infoOf(f *os.File) (Info, error) {
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &by); err != nil {
		return Info{}, err
	}
	i := Info{
		Kind: Regular, Perm: 0o600, UID: anyone, Links: uint64(by.NumberOfLinks), Dev: uint64(by.VolumeSerialNumber),
		Ino:  uint64(by.FileIndexHigh)<<32 | uint64(by.FileIndexLow),
		Size: int64(by.FileSizeHigh)<<32 | int64(by.FileSizeLow), Mtime: by.LastWriteTime.Nanoseconds(),
	}
	switch {
	case by.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		i.Kind = Other
	case by.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		i.Kind, i.Perm = Directory, 0o700
	}
	// Where removing is not as POSIX has it, the name stays until the last handle is closed.
	var std standardInformation
	err := windows.GetFileInformationByHandleEx(windows.Handle(f.Fd()), windows.FileStandardInfo, (*byte)(unsafe.Pointer(&std)), uint32(unsafe.Sizeof(std)))
	if err == nil && std.DeletePending {
		i.Links = 0
	}
	return i, nil
}
