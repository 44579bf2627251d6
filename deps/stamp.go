package deps

import (
	"errors"
	"time"

	"github.com/kernstash/kernstash/internal/ctime"
)

var errChanging = errors.New("it is being changed")

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
func (s stamp) settledAt(now time.Time) bool { return ctime.Settled(now, s.mtime, s.ctime) }

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
