package deps

import (
	"crypto/sha256"
	"errors"
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

// file is a source: a header file that was read, by whatever path, or the main one.
type file struct {
	src     *scan.Source
	digest  key.Digest // this, and what follows, is of header files
	content []byte
	stamp   files.Stamp
}

// load reads the file that was found at path, once.
func (t *tracker) load(path string) (*file, error) {
	if f := t.files[path]; f != nil {
		return f, nil
	}
	s := t.disk.At(path)
	f := t.inodes[s.Stamp.Inode]
	switch {
	case f == nil:
		var err error
		if f, err = t.readFile(path, s); err != nil {
			return nil, err
		}
		t.inodes[s.Stamp.Inode] = f
	case f.stamp != s.Stamp:
		return nil, fmt.Errorf("%s: %w", path, files.ErrChanging)
	}
	t.files[path] = f
	return f, nil
}

// readFile reads and scans a file.
func (t *tracker) readFile(path string, s *files.Spot) (*file, error) {
	if len(t.inodes) == maxFiles {
		return nil, files.ErrTooMuch
	}
	if err := t.disk.InTime(); err != nil {
		return nil, err
	}
	content, st, err := t.disk.Read(path, maxBytes-t.bytes)
	if err == nil && st != s.Stamp {
		err = files.ErrChanging
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.bytes += st.Size
	return &file{src: scan.Scan(content, t.traces), digest: sha256.Sum256(content), content: content, stamp: st}, nil
}

// errHeader is wrapped where a header file is not what it was.
var errHeader = errors.New("not what was built")

// Read reads a header file that was read before. It is an error if its content is
// another one by now.
func Read(f key.File) ([]byte, error) {
	if f.Size > maxBytes {
		return nil, fmt.Errorf("%s: %w", f.Path, files.ErrTooMuch)
	}
	content, _, err := files.OS.Read(f.Path, f.Size)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(content) != f.Digest {
		return nil, fmt.Errorf("%s: %w", f.Path, errHeader)
	}
	return content, nil
}
