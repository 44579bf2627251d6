package files

import "strings"

// Inode tells files apart. What a name leads to is the file, not the link.
type Inode struct{ Device, Number uint64 }

// Stamp changes when a file changes, or when a name leads to another file.
type Stamp struct {
	Inode
	Size         int64
	Mtime, Ctime int64 // nanoseconds since 1970
}

// Kind is what is found at a path.
type Kind uint8

// The kinds.
const (
	Nothing       Kind = iota // no such file
	noDirectory               // a file where a directory would have to be
	Directory                 // a directory, which is no header
	RealDirectory             // likewise, and not through a symbolic link
	Regular
	Special // a FIFO, a device, a socket
	Link    // a symbolic link, where it is not followed
)

// Way is what is found at a path without following it.
type Way struct {
	Kind   Kind
	Target string // of a link
	Stamp
}

// ChangedSince reports whether w is not what was there, or has been somewhere else. A
// directory that was renamed has a change time of its own; one in which a file was made
// has the same as the time of its content.
func (w Way) ChangedSince(was Way) bool {
	if w.Kind != was.Kind || w.Inode != was.Inode || w.Target != was.Target {
		return true
	}
	return w.Ctime != was.Ctime && (w.Kind == Link || w.Ctime != w.Mtime)
}

// Parent returns the directory of an absolute path.
func Parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}
