// Package safefs opens, makes and removes files below one directory, and
// never outside it: no symbolic link is followed below the directory, whoever
// put it there, and no name leads up. [os.Root] follows links that stay
// inside, which is too much for a cache that an attacker might prepare.
//
// On Linux a path is opened by one openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS; where the kernel or a sandbox does not have it, and on
// macOS, component by component with O_NOFOLLOW. On Windows os.Root opens what is
// no link; modes and owners mean nothing there, see Dir.Distrust.
// Other systems are not supported: every call answers [ErrUnsupported].
//
// Errors are *fs.PathError and answer errors.Is for the errors of [io/fs]. A
// [Dir] and a [File] are descriptors: copies share it, Close ends it once.
package safefs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/kernstash/kernstash/internal/writesignal"
)

// ErrUnsupported is wrapped by every error on systems without this package.
var ErrUnsupported = errors.New("not supported on this system yet")

// TempPrefix starts the name of every temporary file of Publish.
const TempPrefix = "put"

// ErrPath is wrapped for a path that is not made of plain names.
var ErrPath = errors.New("not a path below the directory")

// Kind says what a directory entry is, as far as a cache cares.
type Kind uint8

// The kinds.
const (
	Other     Kind = iota // symbolic link, FIFO, socket, device
	Regular               // regular file
	Directory             // directory
)

// Info is what fstat tells.
type Info struct {
	Kind  Kind
	Perm  uint32 // permission bits
	UID   uint32 // owner
	Links uint64 // names; 0 once the last one is removed
	Dev   uint64
	Ino   uint64
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Ctime int64 // likewise, when the file or what is told of it was last changed; 0: not known
}

// Options are for tests: they turn faster ways off, and let calls fail.
type Options struct {
	NoOpenat2 bool // open component by component
	NoTmpfile bool // name temporary files from the start
	Hook      *Hook
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	writesignal.Note(err)
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// checkName refuses what is not one plain name.
func checkName(op, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return pathError(op, name, ErrPath)
	}
	return nil
}

// Op names a system call, or one of the ways to use it that fail apart.
type Op string

// The system calls of this package, and of those that build on it.
const (
	OpOpen      Op = "open"
	OpOpenat    Op = "openat"
	OpOpenat2   Op = "openat2"
	OpCreate    Op = "openat O_CREAT"
	OpTmpfile   Op = "openat O_TMPFILE"
	OpFstat     Op = "fstat"
	OpFstatat   Op = "fstatat"
	OpPread     Op = "pread"
	OpPwrite    Op = "pwrite"
	OpUtimens   Op = "utimensat"
	OpLink      Op = "linkat"
	OpLinkFD    Op = "linkat AT_EMPTY_PATH"
	OpLinkProc  Op = "linkat /proc/self/fd"
	OpRename    Op = "renameat"
	OpUnlink    Op = "unlinkat"
	OpRmdir     Op = "unlinkat AT_REMOVEDIR"
	OpMkdir     Op = "mkdirat"
	OpMkdirAll  Op = "mkdir -p"
	OpChmod     Op = "fchmod"
	OpGetdents  Op = "getdents"
	OpClose     Op = "close"
	OpLock      Op = "fcntl F_OFD_SETLK"
	OpLockFreed Op = "fcntl F_UNLCK"
)

// Hook lets tests make system calls fail, or fall short. A nil *Hook, which is
// what programs have, costs one comparison a call.
type Hook struct {
	// Before is asked before every system call; size is how many bytes a read or write is
	// about, else 0. An error is what the call answers instead of being made (a close is
	// made as well). most, where it is less than size, is how many bytes a read or write
	// may move at most: 0 is the end of the file, or a full medium.
	Before func(op Op, size int) (most int, err error)
}

// ask returns what the call answers instead of being made, if anything.
func (h *Hook) ask(op Op) error {
	if h == nil {
		return nil
	}
	_, err := h.Before(op, 0)
	return err
}

// limit cuts b to what a read or write may move.
func (h *Hook) limit(op Op, b []byte) ([]byte, error) {
	if h == nil {
		return b, nil
	}
	most, err := h.Before(op, len(b))
	return b[:max(min(most, len(b)), 0)], err
}

// do makes a call, again where a signal interrupted it: on network file
// systems, and on those in user space, any may be.
func (h *Hook) do(op Op, call func() error) error {
	for {
		err := h.ask(op)
		if err == nil {
			err = call()
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Before asks the hook of o about a call that is made elsewhere.
func (o Options) Before(op Op) error { return o.Hook.ask(op) }
