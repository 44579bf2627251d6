package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Delete removes the entry of k, and what is damaged under the same names; see
// [store.Store]. Entries of other keys and of other versions stay.
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	err := s.at.Change(ctx, func(r *rootdir.Root) error { return s.deleteIn(ctx, r, k) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	return nil
}

func (s *Store) deleteIn(ctx context.Context, r *rootdir.Root, k key.Key) error {
	names := s.at.Names(k)
	leaf, err := r.Dir.OpenDir(names.Path())
	if err != nil {
		return err
	}
	defer leaf.Close()
	m, err := r.Meta()
	if err != nil {
		return err
	}
	unlock, err := m.LockLeaf(ctx, names, rootdir.LeafWait)
	if err != nil {
		return err
	}
	defer unlock()
	numbers, _, err := rootdir.Numbers(leaf)
	if err != nil {
		return err
	}
	var freed evict.Usage
	defer func() { s.at.AccountAdd(m, evict.ShardOf(names[1]), evict.Usage{}.Minus(freed)) }()
	for _, n := range numbers {
		if err := s.at.Owns(leaf, rootdir.BinName(n), k); err == nil || rootdir.Damaged(err) && !rootdir.IsDirectory(leaf, rootdir.BinName(n)) {
			u, err := rootdir.RemoveEntry(leaf, n, rootdir.Stat(leaf, rootdir.BinName(n)), false)
			if err != nil {
				return err
			}
			freed = freed.Plus(u)
		}
	}
	freed = freed.Plus(rootdir.Directories(rootdir.Prune(r.Dir, names)))
	return nil
}
