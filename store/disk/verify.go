package disk

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
)

// Verify reads every entry completely: digests, lists, that it is where its
// key belongs, and that its recipe can be read and makes its key. Entries that
// can hit nowhere are removed if repair is set, and so are recipes that cannot
// be used; an entry whose recipe is lost stays, since it can hit; and the account
// is corrected. progress,
// which may be nil, is called with the number of entries so far.
func (s *Store) Verify(ctx context.Context, repair bool, progress func(done int64)) (Report, error) {
	return s.sweep(ctx, "verify", repair, false, progress, func(w *sweep) error {
		walk := walker{}
		walk.visit = func(leaf beneath.Dir, names leafNames, items []item) error {
			for i := range items {
				w.saw(&items[i])
				if other := w.verify(leaf, names, &items[i], repair); other {
					w.other(items[i].usage().Plus(directories(walk.freed(items))))
				}
			}
			return ctx.Err()
		}
		if repair {
			walk.rmdir = w.rmdir
		}
		if err := w.walk(&walk); err != nil {
			return err
		}
		return w.verifyHeaders(repair)
	})
}

// verify checks an item, and says whether it is of another version.
func (w *sweep) verify(leaf beneath.Dir, names leafNames, it *item, repair bool) (other bool) {
	if it.bin == nil {
		w.verifyOrphan(leaf, names, it, repair)
		return false
	}
	err := w.s.checkEntry(leaf, names, it.n)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
	case errors.Is(err, format.ErrVersion):
		w.report.OtherVersions++
		return true
	case err != nil:
		w.report.Damaged++
		repaired := repair && !isDirectory(leaf, binName(it.n)) && w.remove(leaf, names, it.n, false, func() bool {
			err := w.s.checkEntry(leaf, names, it.n)
			return damaged(err) || errors.Is(err, errMisplaced)
		})
		w.report.problem(names.file(binName(it.n)), err, repaired)
	default:
		w.verifyRecipe(leaf, names, it.n, repair)
	}
	return false
}

// checkEntry says what is wrong with an entry, its recipe not counted.
func (s *Store) checkEntry(leaf beneath.Dir, names leafNames, n uint32) error {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	h, _, err := readBin(f, info, nil, verified)
	if err == nil && s.names(h.Key) != names {
		err = errMisplaced
	}
	return err
}

// verifyRecipe checks the recipe of a good entry.
func (w *sweep) verifyRecipe(leaf beneath.Dir, names leafNames, n uint32, repair bool) {
	err := w.s.checkRecipe(leaf, n)
	switch {
	case err == nil:
		return
	case errors.Is(err, format.ErrVersion):
		w.report.OtherVersions++
		return
	}
	w.report.LostRecipes++
	repaired := false
	if repair && !errors.Is(err, fs.ErrNotExist) {
		repaired = w.removeRecipe(leaf, names, n, func() bool {
			err := w.s.checkRecipe(leaf, n)
			return damaged(err) || errors.Is(err, errWrongRecipe)
		})
	}
	w.report.problem(names.file(srcName(n)), err, repaired)
}

func (s *Store) checkRecipe(leaf beneath.Dir, n uint32) error {
	rec, _, err := s.readRecipe(leaf, srcName(n), format.MaxSize)
	if err != nil {
		return err
	}
	return s.ownsRecipe(leaf, n, rec.Key())
}

// verifyOrphan handles a recipe without an entry: a writer puts it first, so
// one that is young is none of our business.
func (w *sweep) verifyOrphan(leaf beneath.Dir, names leafNames, it *item, repair bool) {
	if it.src.Kind != beneath.Regular || w.s.nowNanos()-it.src.Mtime <= int64(orphanAge) || !replaceableSrc(leaf, it.n) {
		return
	}
	w.report.Orphans++
	repaired := repair && w.removeRecipe(leaf, names, it.n, func() bool {
		_, err := leaf.Lstat(binName(it.n))
		return errors.Is(err, fs.ErrNotExist)
	})
	w.report.problem(names.file(srcName(it.n)), errOrphan, repaired)
}

var errOrphan = errors.New("a recipe without an entry")

// removeRecipe removes a .src under the lock of its leaf, if still says so.
func (w *sweep) removeRecipe(leaf beneath.Dir, names leafNames, n uint32, still func() bool) bool {
	unlock, err := w.s.lockLeaf(w.ctx, w.m, names, leafWait)
	if err != nil {
		return false
	}
	defer unlock()
	info, err := leaf.Lstat(srcName(n))
	if err != nil || !still() || leaf.Remove(srcName(n)) != nil {
		return false
	}
	w.took(fileUsage(nil, &info))
	return true
}
