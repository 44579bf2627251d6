package deps

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

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
