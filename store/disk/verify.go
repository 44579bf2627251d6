package disk

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Verify reads every entry completely: digests, lists, that it is where its
// key belongs, and that its recipe can be read and makes its key. Entries that
// can hit nowhere are removed if repair is set, and so are recipes that cannot be used; an
// entry whose recipe is lost stays, since it can hit; and the account is corrected. progress,
// which may be nil, is called with the number of entries so far.
func (s *Store) Verify(ctx context.Context, repair bool, progress func(done int64)) (Report, error) {
	return s.sweep(ctx, "verify", repair, false, progress, func(w *sweep) error {
		if err := w.items(w.verify); err != nil {
			return err
		}
		return w.verifyHeaders()
	})
}

var errOrphan = errors.New("a recipe without an entry")

// verify checks an item, and says whether it is of another version.
func (w *sweep) verify(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (_, other bool) {
	if it.Bin == nil {
		if w.isOrphan(it) && rootdir.ReplaceableSrc(leaf, it.N) { // not of another version
			w.report.Orphans++
			w.report.problem(names.File(rootdir.SrcName(it.N)), errOrphan, w.alone && w.removeOrphan(leaf, names, it.N))
		}
		return false, false
	}
	switch err := w.s.checkEntry(leaf, names, it.N); {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
	case errors.Is(err, format.ErrVersion):
		w.report.OtherVersions++
		return false, true
	case err != nil:
		w.report.Damaged++
		repaired := w.alone && !rootdir.IsDirectory(leaf, rootdir.BinName(it.N)) && w.remove(leaf, names, it.N, false, func() bool {
			return hitsNowhere(w.s.checkEntry(leaf, names, it.N))
		})
		if repaired {
			w.gone(records.Damaged).Leaf(names)
		}
		w.report.problem(names.File(rootdir.BinName(it.N)), err, repaired)
	default:
		w.verifyRecipe(leaf, names, it.N)
	}
	return false, false
}

// checkEntry returns what is wrong with an entry, its recipe not counted.
func (s *Store) checkEntry(leaf safefs.Dir, names rootdir.LeafNames, n uint32) error {
	h, _, err := s.at.Load(leaf, rootdir.BinName(n), nil, format.VerifyBin)
	if err == nil && s.at.Names(h.Key) != names {
		err = rootdir.ErrMisplaced
	}
	return err
}

// verifyRecipe checks the recipe of a good entry.
func (w *sweep) verifyRecipe(leaf safefs.Dir, names rootdir.LeafNames, n uint32) {
	switch err := w.s.checkRecipe(leaf, n); {
	case errors.Is(err, format.ErrVersion):
		w.report.OtherVersions++
	case err != nil:
		w.report.LostRecipes++
		repaired := w.alone && !errors.Is(err, fs.ErrNotExist) && w.removeRecipe(leaf, names, n, func() bool {
			err := w.s.checkRecipe(leaf, n)
			return rootdir.Damaged(err) || errors.Is(err, errWrongRecipe)
		})
		w.report.problem(names.File(rootdir.SrcName(n)), err, repaired)
	}
}

// checkRecipe returns what is wrong with the recipe of an entry, whose key it must make.
func (s *Store) checkRecipe(leaf safefs.Dir, n uint32) error {
	rec, err := s.at.ReadRecipe(leaf, rootdir.SrcName(n), format.MaxSize)
	if err != nil {
		return err
	}
	err = s.at.Owns(leaf, rootdir.BinName(n), rec.Key())
	if errors.Is(err, rootdir.ErrCollision) {
		return errWrongRecipe
	}
	return err
}
