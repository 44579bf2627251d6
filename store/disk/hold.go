package disk

import "fmt"

// Hold returns a store of the root that is there now, made if need be, and of no other:
// once that root or its .meta is removed, nothing more is written, even where another
// cache is at the path by then. The caller closes it; s stays as it is.
func (s *Store) Hold() (*Store, error) {
	if err := s.at.Writable(); err != nil {
		return nil, fmt.Errorf("hold: %w", err)
	}
	at, err := s.at.Hold()
	if err != nil {
		return nil, err
	}
	return newStore(s.o, at), nil
}
