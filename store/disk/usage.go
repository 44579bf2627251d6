package disk

import "github.com/kernstash/kernstash/internal/beneath"

// block is the unit in which space is counted. What the account holds, and what
// the limit is for, is what du shows on a file system with blocks of this size:
// a file takes whole blocks, and a directory takes one. On others it takes less.
// The size of a file alone decides, so that whoever adds it and whoever takes it
// off, years later and perhaps on another file system, mean the same.
const block = 4096

// usage is a number of entries and the bytes that they take, directories
// included.
type usage struct{ bytes, entries int64 }

func (u usage) plus(v usage) usage  { return usage{u.bytes + v.bytes, u.entries + v.entries} }
func (u usage) minus(v usage) usage { return usage{u.bytes - v.bytes, u.entries - v.entries} }

// blocks is what a file of size bytes takes.
func blocks(size int64) int64 { return (size + block - 1) / block * block }

// fileUsage returns what the files of an entry take: each of them may be
// something else, or nil where there is none.
func fileUsage(bin, src *beneath.Info) usage {
	var u usage
	if bin != nil && bin.Kind == beneath.Regular {
		u.bytes, u.entries = blocks(bin.Size), 1
	}
	if src != nil && src.Kind == beneath.Regular {
		u.bytes += blocks(src.Size)
	}
	return u
}

// directories returns what n directories take.
func directories(n int) usage { return usage{bytes: int64(n) * block} }

// sizeOf returns what entry n takes.
func sizeOf(leaf beneath.Dir, n uint32) usage {
	stat := func(name string) *beneath.Info {
		if info, err := leaf.Lstat(name); err == nil {
			return &info
		}
		return nil
	}
	return fileUsage(stat(binName(n)), stat(srcName(n)))
}
