package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// errWrongRecipe says that a .src is of another key than its .bin.
var errWrongRecipe = errors.New("the recipe of another key")

// Recipe returns the recipe that the entry of k was built from. Its digest was
// checked, and its key is k. Whatever prevents this is a *store.MissError.
func (s *Store) Recipe(ctx context.Context, k key.Key) (*key.Recipe, error) {
	var rec *key.Recipe
	err := s.at.Look(ctx, func(r *rootdir.Root) (err error) {
		leaf, err := r.Dir.OpenDir(s.at.Names(k).Path())
		if err != nil {
			return err
		}
		defer leaf.Close()
		rec, err = s.recipeIn(leaf, k)
		return err
	})
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	return rec, nil
}

func (s *Store) recipeIn(leaf safefs.Dir, k key.Key) (*key.Recipe, error) {
	numbers, _, err := rootdir.Numbers(leaf)
	if err != nil {
		return nil, err
	}
	var first error = fmt.Errorf("read recipe: %w", fs.ErrNotExist)
	for _, n := range numbers {
		if err := s.at.Owns(leaf, rootdir.BinName(n), k); err != nil {
			first = rootdir.MoreTelling(first, rootdir.WrapPath(rootdir.BinName(n), err))
			continue
		}
		rec, err := s.at.ReadRecipe(leaf, rootdir.SrcName(n), format.MaxSize)
		if err == nil && rec.Key() != k {
			err = fmt.Errorf("%w: %w", rootdir.ErrCollision, errWrongRecipe)
		}
		if err != nil {
			err = rootdir.WrapPath(rootdir.SrcName(n), err)
		}
		return rec, err
	}
	return nil, first
}
