package disk

import (
	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// block is the unit in which space is counted. What the account holds, and what
// the limit is for, is what du shows on a file system with blocks of this size:
// a file takes whole blocks, and a directory takes one. On others it takes less.
// The size of a file alone decides, so that whoever adds it and whoever takes it
// off, years later and perhaps on another file system, mean the same.
const block = 4096

type usage = evict.Usage

// blocks is what a file of size bytes takes.
func blocks(size int64) int64 { return (size + block - 1) / block * block }

// fileUsage returns what the files of an entry take: each of them may be
// something else, or nil where there is none.
func fileUsage(bin, src *beneath.Info) usage {
	var u usage
	if bin != nil && bin.Kind == beneath.Regular {
		u.Bytes, u.Entries = blocks(bin.Size), 1
	}
	if src != nil && src.Kind == beneath.Regular {
		u.Bytes += blocks(src.Size)
	}
	return u
}

// directories returns what n directories take.
func directories(n int) usage { return usage{Bytes: int64(n) * block} }

// sizeOf returns what entry n takes.
func sizeOf(leaf beneath.Dir, n uint32) usage {
	return fileUsage(stat(leaf, binName(n)), stat(leaf, srcName(n)))
}

// stat says what a name is; nil: nothing is there, or nobody can know.
func stat(leaf beneath.Dir, name string) *beneath.Info {
	if info, err := leaf.Lstat(name); err == nil {
		return &info
	}
	return nil
}

// accountAdd adds to the account what was written to a slot's part of the root,
// or, with negative numbers, what was removed.
func (s *Store) accountAdd(m *meta, slot int, u usage) {
	if err := m.account.Add(slot, u); err != nil {
		s.o.Trace.Debug("account not updated", "reason", err)
	}
}
