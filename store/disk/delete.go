package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// Delete removes the entry of k, and what is damaged under the same names; see
// [store.Store]. Entries of other keys and of other versions stay.
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	if s.o.ReadOnly {
		return fmt.Errorf("delete %s: a read-only layer: %w", k.Short(), fs.ErrPermission)
	}
	r, err := s.acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	defer r.release()
	if err := s.deleteIn(ctx, r, k); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	return nil
}

func (s *Store) deleteIn(ctx context.Context, r *root, k key.Key) error {
	names := s.names(k)
	leaf, err := r.dir.OpenDir(names.path())
	if err != nil {
		return err
	}
	defer leaf.Close()
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		return err
	}
	unlock, err := s.lockLeaf(ctx, m, names, leafWait)
	if err != nil {
		return err
	}
	defer unlock()
	numbers, err := listNumbers(leaf)
	if err != nil {
		return err
	}
	var freed usage
	defer func() { s.accountAdd(m, evict.ShardOf(names[1]), usage{}.Minus(freed)) }()
	for _, n := range numbers {
		if err := s.ownsHeader(leaf, n, k); err == nil || damaged(err) && !isDirectory(leaf, binName(n)) {
			u, err := removeEntry(leaf, n, stat(leaf, binName(n)), false)
			if err != nil {
				return err
			}
			freed = freed.Plus(u)
		}
	}
	freed = freed.Plus(directories(prune(r.dir, names)))
	return nil
}

// ownsHeader says whether entry n is of key k, going by its header.
func (s *Store) ownsHeader(leaf beneath.Dir, n uint32, k key.Key) error {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := readHeader(f, info)
	if err == nil && h.Key != k {
		err = errCollision
	}
	return err
}

// removeEntry removes both files of an entry, the one that decides a hit
// first, and returns what that freed. bin is what that is; nil: it is not there. A recipe
// of another version goes only with everything.
func removeEntry(leaf beneath.Dir, n uint32, bin *beneath.Info, everything bool) (usage, error) {
	if err := leaf.Remove(binName(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage{}, err
	}
	var src *beneath.Info
	if everything {
		src = stat(leaf, srcName(n))
	} else if src, everything = lookSrc(leaf, n); !everything {
		src = nil // it stays, and is found as an orphan
	}
	if src != nil && leaf.Remove(srcName(n)) == nil {
		return fileUsage(bin, src), nil
	}
	return fileUsage(bin, nil), nil
}

// prune removes a leaf directory and those above it, as far as they are empty.
// It returns how many of those it removed that the account counts.
func prune(d beneath.Dir, names leafNames) (removed int) {
	for level := len(names) - 1; level >= 0; level-- {
		parent := d
		if level > 0 {
			var err error
			if parent, err = d.OpenDir(leafPrefix(names, level)); err != nil {
				return removed
			}
		}
		err := parent.Rmdir(names[level])
		if parent != d {
			parent.Close()
		}
		if err != nil {
			return removed
		}
		if level > 0 {
			removed++
		}
	}
	return removed
}
