package safefs

import (
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Rights to a file or directory. All of them let others do what they want
// with the name meanwhile: read, write, rename, delete.
const (
	shareAll    = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	readRights  = windows.FILE_GENERIC_READ
	writeRights = windows.FILE_GENERIC_READ | windows.FILE_GENERIC_WRITE
	dirRights   = windows.FILE_LIST_DIRECTORY | windows.FILE_TRAVERSE | windows.FILE_READ_ATTRIBUTES |
		windows.READ_CONTROL | windows.SYNCHRONIZE
)

// ntOpen opens or makes what path leads to below a directory. No reparse point
// is followed on the way, none at its end either unless options say so.
func ntOpen(dir windows.Handle, path string, access, disposition, options uint32) (int, error) {
	name, err := windows.NewNTUnicodeString(strings.ReplaceAll(path, "/", `\`))
	if err != nil {
		return -1, err
	}
	oa := windows.OBJECT_ATTRIBUTES{RootDirectory: dir, ObjectName: name, Attributes: windows.OBJ_DONT_REPARSE}
	oa.Length = uint32(unsafe.Sizeof(oa))
	var h windows.Handle
	var iosb windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&h, access|windows.SYNCHRONIZE, &oa, &iosb, nil, windows.FILE_ATTRIBUTE_NORMAL, shareAll,
		disposition, options|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	runtime.KeepAlive(name)
	if err != nil {
		return -1, ntError(err)
	}
	return int(h), nil
}

// ntError translates what callers ask for with errors.Is: they know the errors
// of io/fs, and a few of Unix.
func ntError(err error) error {
	var status windows.NTStatus
	if !errors.As(err, &status) {
		return err
	}
	switch status {
	case windows.STATUS_REPARSE_POINT_ENCOUNTERED, windows.STATUS_STOPPED_ON_SYMLINK:
		return syscall.ELOOP
	case windows.STATUS_NOT_A_DIRECTORY:
		return syscall.ENOTDIR
	case windows.STATUS_FILE_IS_A_DIRECTORY:
		return syscall.EISDIR
	case windows.STATUS_DELETE_PENDING, windows.STATUS_FILE_DELETED:
		return syscall.ENOENT
	case windows.STATUS_OBJECT_NAME_COLLISION:
		return syscall.EEXIST
	case windows.STATUS_DIRECTORY_NOT_EMPTY:
		return syscall.ENOTEMPTY
	case windows.STATUS_OBJECT_NAME_INVALID, windows.STATUS_OBJECT_PATH_SYNTAX_BAD:
		return ErrPath
	}
	return status.Errno()
}

// checkPath refuses paths with a part that is not a plain name: Windows has
// more ways than one to write "above", and a colon leads into a stream.
func checkPath(op, path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if err := checkName(op, part); err != nil {
			return err
		}
		if strings.ContainsAny(part, `\:*?"<>|`) || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' }) {
			return pathError(op, path, ErrPath)
		}
	}
	return nil
}

// unsupported says whether a file system, or Wine, does not know a class of
// information, or its flags.
func unsupported(err error) bool {
	for _, status := range []windows.NTStatus{
		windows.STATUS_INVALID_INFO_CLASS, windows.STATUS_INVALID_PARAMETER, windows.STATUS_NOT_SUPPORTED,
		windows.STATUS_NOT_IMPLEMENTED, windows.STATUS_INVALID_DEVICE_REQUEST,
	} {
		if errors.Is(err, status) {
			return true
		}
	}
	return false
}

// ntDelete removes the name of an open file or directory: at once, whoever
// else has it open, where the file system can, else once all have closed it.
func ntDelete(h windows.Handle) error {
	var iosb windows.IO_STATUS_BLOCK
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS |
		windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE)
	err := windows.NtSetInformationFile(h, &iosb, (*byte)(unsafe.Pointer(&flags)), 4, windows.FileDispositionInformationEx)
	if unsupported(err) {
		remove := byte(1)
		err = windows.NtSetInformationFile(h, &iosb, &remove, 1, windows.FileDispositionInformation)
	}
	return ntError(err)
}

// renameInformation is FILE_RENAME_INFORMATION up to the name.
type renameInformation struct {
	Flags      uint32 // or one byte that says whether to replace
	Directory  windows.Handle
	NameLength uint32
	Name       [1]uint16
}

// fileRenameInformationEx knows flags.
const fileRenameInformationEx = 65

// ntRename gives an open file another name, in place of what has it if replace
// is set, and else syscall.EEXIST.
func ntRename(h, dir windows.Handle, name string, replace bool) error {
	wide, err := windows.UTF16FromString(name)
	if err != nil {
		return err
	}
	wide = wide[:len(wide)-1]
	size := max(int(unsafe.Offsetof(renameInformation{}.Name))+2*len(wide), int(unsafe.Sizeof(renameInformation{})))
	b := make([]uint64, size/8+1) // aligned
	info := (*renameInformation)(unsafe.Pointer(&b[0]))
	info.Directory, info.NameLength = dir, uint32(2*len(wide))
	copy(unsafe.Slice(&info.Name[0], len(wide)), wide)
	set := func(flags, class uint32) error {
		info.Flags = flags
		var iosb windows.IO_STATUS_BLOCK
		return windows.NtSetInformationFile(h, &iosb, (*byte)(unsafe.Pointer(info)), uint32(size), class)
	}
	flags, old := uint32(windows.FILE_RENAME_POSIX_SEMANTICS), uint32(0)
	if replace {
		flags |= windows.FILE_RENAME_REPLACE_IF_EXISTS | windows.FILE_RENAME_IGNORE_READONLY_ATTRIBUTE
		old = 1
	}
	if err = set(flags, fileRenameInformationEx); unsupported(err) {
		err = set(old, windows.FileRenameInformation)
	}
	return ntError(err)
}

// anyone is the owner of every file here: whom a root may belong to is decided
// by its access control list, see [Dir.Distrust].
const anyone = ^uint32(0)

func ntInfo(h windows.Handle) (Info, error) {
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &by); err != nil {
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
	return i, nil
}

// standardInformation is FILE_STANDARD_INFO.
type standardInformation struct {
	AllocationSize, EndOfFile int64
	NumberOfLinks             uint32
	DeletePending, Directory  bool
}

// ntInfoNow is ntInfo of a file that may have been removed since it was
// opened.
func ntInfoNow(h windows.Handle) (Info, error) {
	i, err := ntInfo(h)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return Info{}, nil // no name is left
	}
	if err != nil {
		return Info{}, err
	}
	var std standardInformation
	err = windows.GetFileInformationByHandleEx(h, windows.FileStandardInfo, (*byte)(unsafe.Pointer(&std)), uint32(unsafe.Sizeof(std)))
	if err == nil && std.DeletePending {
		i.Links = 0
	}
	return i, nil
}
