package rootdir

import (
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// block is the unit in which space is counted. What the account holds, and what
// the limit is for, is what du shows on a file system with blocks of this size:
// a file takes whole blocks, and a directory takes one. On others it takes less.
// The size of a file alone decides, so that whoever adds it and whoever takes it
// off, years later and perhaps on another file system, mean the same.
const block = 4096

// Blocks is what a file of size bytes takes.
func Blocks(size int64) int64 { return (size + block - 1) / block * block }

// FileUsage returns what the files of an entry take: each of them may be
// something else, or nil where there is none.
func FileUsage(bin, src *safefs.Info) evict.Usage {
	var u evict.Usage
	if bin != nil && bin.Kind == safefs.Regular {
		u.Bytes, u.Entries = Blocks(bin.Size), 1
	}
	if src != nil && src.Kind == safefs.Regular {
		u.Bytes += Blocks(src.Size)
	}
	return u
}

// Directories returns what n directories take.
func Directories(n int) evict.Usage { return evict.Usage{Bytes: int64(n) * block} }

// Stat says what a name is; nil: nothing is there, or nobody can know.
func Stat(leaf safefs.Dir, name string) *safefs.Info {
	if info, err := leaf.Lstat(name); err == nil {
		return &info
	}
	return nil
}

// AccountAdd adds to the account what was written to a slot's part of the root,
// or, with negative numbers, what was removed.
func (p *Place) AccountAdd(m *Meta, slot int, u evict.Usage) {
	if err := m.Account.Add(slot, u); err != nil {
		p.Trace.Debug("account not updated", "reason", err)
	}
}
