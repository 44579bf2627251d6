package disk

import (
	"context"
	"fmt"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/internal/pins"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Pin keeps the entry of a key, once it is there, from eviction, and from GC unless it is damaged.
func (s *Store) Pin(ctx context.Context, k key.Key) error {
	if err := s.pin(ctx, s.at.Names(k), k.String()); err != nil {
		return fmt.Errorf("pin %s: %w", k.Short(), err)
	}
	return nil
}

// Unpin undoes Pin, by the path that Pins told.
func (s *Store) Unpin(ctx context.Context, path string) error {
	if err := s.pin(ctx, leafNames(path), ""); err != nil {
		return fmt.Errorf("unpin %s: %w", path, err)
	}
	return nil
}

func (s *Store) pin(ctx context.Context, names rootdir.LeafNames, k string) error {
	return s.at.Write(ctx, func(_ *rootdir.Root, m *rootdir.Meta) error {
		unlock, err := m.LockLeaf(ctx, names, rootdir.LeafWait) // which who removes the entry has, too
		if err != nil {
			return err
		}
		defer unlock()
		return pins.Set(m, names, k, s.at.NowNanos())
	})
}

// Pins returns what is pinned: paths of directories of entries below the root, and keys, the text of which may be damaged.
func (s *Store) Pins(ctx context.Context) (map[string]string, error) {
	all := make(map[string]string)
	err := s.at.Look(ctx, func(r *rootdir.Root) error {
		m, err := r.LookMeta()
		if err == nil {
			err = pins.Each(s.at, m, func(path, key string) { all[path] = key })
		}
		return err
	})
	if rootdir.IgnoreGone(err) != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	return all, nil
}

// pinned is pins.Has for who may only look.
func pinned(r *rootdir.Root, names rootdir.LeafNames) bool {
	m, err := r.LookMeta()
	return err == nil && pins.Has(m, names)
}
