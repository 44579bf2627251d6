package disk

import (
	"fmt"
	"io/fs"
)

// Hold returns a store of the root that is there now, made if need be, and of no other:
// once that root or its .meta is removed, nothing more is written, even where another
// cache is at the path by then. The caller closes it; s stays as it is.
func (s *Store) Hold() (*Store, error) {
	if s.o.ReadOnly {
		return nil, fmt.Errorf("hold %s: a read-only layer: %w", s.o.Dir, fs.ErrPermission)
	}
	at, err := s.at.Hold()
	if err != nil {
		return nil, err
	}
	return newStore(s.o, at), nil
}
