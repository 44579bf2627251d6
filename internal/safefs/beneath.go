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
