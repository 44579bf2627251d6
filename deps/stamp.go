package deps

import (
	"errors"
	"time"
)

var errChanging = errors.New("it is being changed")

// grain is how long after its last change a file may change again without its
// stamp showing it: two seconds on the coarsest file systems (FAT), and one for
// the clock of a file server that is behind ours.
const grain = 3 * time.Second

// inode tells files apart. What a name leads to is the file, not the link.
type inode struct{ device, number uint64 }

// stamp changes when a file changes, or when a name leads to another file.
type stamp struct {
	inode
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// settledAt says whether a change after the time now would show in the stamp, on a file
// system whose change times can be trusted.
func (s stamp) settledAt(now time.Time) bool {
	limit := now.Add(-grain).UnixNano()
	return s.mtime <= limit && s.ctime <= limit
}

// kind is what is found at a path.
type kind uint8

const (
	nothing       kind = iota // no such file
	noDirectory               // a file where a directory would have to be
	aDirectory                // a directory, which is no header
	realDirectory             // likewise, and not through a symbolic link
	regular
	special // a FIFO, a device, a socket
	aLink   // a symbolic link, where it is not followed
)
