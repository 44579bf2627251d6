package disk

import (
	"errors"
	"fmt"
	"io/fs"
)

var errGone = errors.New("the cache that was held was removed")

// Hold returns a store of the root that is there now, made if need be, and of no other:
// once that root or its .meta is removed, nothing more is written, even where another
// cache is at the path by then. The caller closes it; s stays as it is.
func (s *Store) Hold() (*Store, error) {
	if s.o.ReadOnly {
		return nil, fmt.Errorf("hold %s: a read-only layer: %w", s.o.Dir, fs.ErrPermission)
	}
	r, err := s.acquire(true)
	if err != nil {
		return nil, err
	}
	if _, err := r.lockMeta(s.o.hooks.noLocks); err != nil { // stays open: see metaGone
		r.release()
		return nil, fmt.Errorf("hold %s: %w", s.o.Dir, err)
	}
	held := New(s.o)
	held.held = true
	held.root.Store(r) // the caller's reference is the store's from here on
	return held, nil
}
