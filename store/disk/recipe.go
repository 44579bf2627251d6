package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// errWrongRecipe says that a .src is of another key than its .bin.
var errWrongRecipe = errors.New("the recipe of another key")

// Recipe returns the recipe that the entry of k was built from. Its digest was
// checked, and its key is k. Whatever prevents this is a *store.MissError.
func (s *Store) Recipe(ctx context.Context, k key.Key) (*key.Recipe, error) {
	if err := ctx.Err(); err != nil {
		return nil, rootdir.Miss(err)
	}
	r, err := s.at.Acquire(false)
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	defer r.Release()
	leaf, err := r.Dir.OpenDir(s.at.Names(k).Path())
	if err != nil {
		s.at.DropIfGone(r)
		return nil, rootdir.Miss(err)
	}
	defer leaf.Close()
	numbers, err := listNumbers(leaf)
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	var first error = fmt.Errorf("read recipe: %w", fs.ErrNotExist)
	for _, n := range numbers {
		if err := s.at.OwnsHeader(leaf, n, k); err != nil {
			first = rootdir.MoreTelling(first, rootdir.WrapPath(rootdir.BinName(n), err))
			continue
		}
		rec, _, err := s.at.ReadRecipe(leaf, rootdir.SrcName(n), format.MaxSize)
		if err == nil && rec.Key() != k {
			err = fmt.Errorf("%w: %w", rootdir.ErrCollision, errWrongRecipe)
		}
		if err == nil {
			return rec, nil
		}
		return nil, rootdir.Miss(rootdir.WrapPath(rootdir.SrcName(n), err))
	}
	return nil, &store.MissError{Reason: rootdir.MissReason(first), Cause: first}
}

// ownsRecipe says whether entry n is of the key that its recipe makes.
func (s *Store) ownsRecipe(leaf safefs.Dir, n uint32, made key.Key) error {
	err := s.at.OwnsHeader(leaf, n, made)
	if errors.Is(err, rootdir.ErrCollision) {
		return errWrongRecipe
	}
	return err
}
