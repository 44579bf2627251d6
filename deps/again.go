package deps

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash/key"
)

// errHeader is wrapped where a header file is not what it was.
var errHeader = errors.New("not what was built")

// Read reads a header file that was read before. It is an error if its content is
// another one by now.
func Read(f key.File) ([]byte, error) {
	if f.Size > maxBytes {
		return nil, fmt.Errorf("%s: %w", f.Path, errTooMuch)
	}
	content, _, err := osSystem.read(f.Path, f.Size)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(content) != f.Digest {
		return nil, fmt.Errorf("%s: %w", f.Path, errHeader)
	}
	return content, nil
}

// Shadow looks for the headers in memory of some units in directories, and returns
// the first that is also a file there, and where; "" for none.
func Shadow(units []key.Unit, dirs []string) (header, dir string) {
	for _, u := range units {
		for _, h := range u.Headers {
			for _, d := range dirs {
				if d == "" {
					continue
				}
				if _, err := os.Lstat(filepath.Join(d, h.Name)); err == nil {
					return h.Name, d
				}
			}
		}
	}
	return "", ""
}

// A Look is a path that was looked at, and what was found there.
type Look struct {
	Path   string
	Absent bool // no header file is there; the rest is zero

	Digest            key.Digest // of the content
	Size              int64
	Modified, Changed int64 // nanoseconds since 1970
	Device, Inode     uint64
}

// Looks yields all that a unit reads, and the names that it looks for in vain, with
// the stamps of the time when they were tracked.
func (m *Manifest) Looks() iter.Seq[Look] {
	return func(yield func(Look) bool) {
		for _, r := range m.reads {
			l := Look{
				Path: r.Path, Digest: m.files[r.file].Digest, Size: r.stamp.size,
				Modified: r.stamp.mtime, Changed: r.stamp.ctime, Device: r.stamp.device, Inode: r.stamp.number,
			}
			if !yield(l) {
				return
			}
		}
		for _, p := range m.probes {
			if !yield(Look{Path: p.Path, Absent: true}) {
				return
			}
		}
	}
}
