package deps

import (
	"crypto/sha256"
	"fmt"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
)

// Bounds of what one unit may read.
const (
	maxBytes = 64 << 20
	maxFiles = 20_000
)

// headers are the files that a unit reads, each of which is read once.
type headers struct {
	disk  *files.Disk
	read  map[string]*file // by path
	files map[files.Inode]*file
	bytes int64
}

// file is a header file that was read, by whatever path.
type file struct {
	digest  key.Digest
	content []byte
	stamp   files.Stamp
	src     *scan.Source
}

// load reads the file that was found at path.
func (h *headers) load(path string, t *scan.Traces) (*file, error) {
	if f := h.read[path]; f != nil {
		return f, nil
	}
	s := h.disk.At(path)
	f := h.files[s.Stamp.Inode]
	switch {
	case f == nil:
		var err error
		if f, err = h.add(path, s, t); err != nil {
			return nil, err
		}
		h.files[s.Stamp.Inode] = f
	case f.stamp != s.Stamp:
		return nil, fmt.Errorf("%s: %w", path, files.ErrChanging)
	}
	h.read[path] = f
	return f, nil
}

// add reads and scans a file.
func (h *headers) add(path string, s *files.Spot, t *scan.Traces) (*file, error) {
	if len(h.files) == maxFiles {
		return nil, files.ErrTooMuch
	}
	if err := h.disk.InTime(); err != nil {
		return nil, err
	}
	content, st, err := h.disk.Read(path, maxBytes-h.bytes)
	if err == nil && st != s.Stamp {
		err = files.ErrChanging
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	h.bytes += st.Size
	return &file{digest: sha256.Sum256(content), content: content, stamp: st, src: scan.Scan(content, t)}, nil
}
