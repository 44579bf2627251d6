package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Get returns the entry of k; see [store.Store]. A hit opens one file, reads
// it and checks its digests. Damage that it meets is counted.
func (s *Store) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	return s.find(ctx, &k, nil)
}

// GetFirst is Get for a caller that needs the first binary alone; see [store.FirstGetter].
func (s *Store) GetFirst(ctx context.Context, k key.Key, buf *store.Buffer) (*store.Entry, error) {
	return s.find(ctx, &k, buf)
}

// find is GetFirst, and Get where buf is nil.
func (s *Store) find(ctx context.Context, k *key.Key, buf *store.Buffer) (e *store.Entry, err error) {
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		e, err = s.get(r, k, buf)
		return err
	})
	return e, rootdir.Miss(err)
}

// get looks at the numbers of the leaf directory: 0 by its path, and then, since names
// may collide, the others. It never stops at a gap: eviction makes them.
func (s *Store) get(r *rootdir.Root, k *key.Key, buf *store.Buffer) (*store.Entry, error) {
	names := s.at.Names(*k)
	path := names.File(rootdir.BinName(0))
	e, err := s.getFile(r.Dir, path, k, buf)
	if err == nil {
		return e, nil
	}
	before := rootdir.WrapPath(path, err)
	leaf, err := r.Dir.OpenDir(names.Path())
	if err != nil {
		return nil, rootdir.MoreTelling(before, err)
	}
	defer leaf.Close()
	numbers, _, err := rootdir.Numbers(leaf)
	if err != nil {
		return nil, rootdir.MoreTelling(before, err)
	}
	for _, n := range numbers {
		if n == 0 {
			continue
		}
		e, err := s.getFile(leaf, rootdir.BinName(n), k, buf)
		if err == nil {
			return e, nil
		}
		before = rootdir.MoreTelling(before, rootdir.WrapPath(rootdir.BinName(n), err))
	}
	return nil, before
}

func (s *Store) getFile(d safefs.Dir, path string, k *key.Key, buf *store.Buffer) (*store.Entry, error) {
	f, info, err := s.at.OpenBin(d, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var a *store.Artifact
	if buf != nil {
		_, a, err = rootdir.ReadFirst(f, info, k, buf)
	} else {
		_, a, err = rootdir.ReadBin(f, info, k, format.DecodeBin)
	}
	if err != nil {
		if isCorrupt(err) {
			s.count(stats.Corrupt, 1)
			s.o.Trace.Warn("damaged entry", "path", path, "reason", err)
		}
		return nil, err
	}
	if err := s.vet(d, path, *k, f, info); err != nil {
		return nil, err
	}
	s.recordUse(f, info)
	s.count(stats.DiskBytesRead, info.Size-a.Unread())
	return &store.Entry{Key: *k, Artifact: a}, nil
}

func isCorrupt(err error) bool {
	return errors.Is(err, format.ErrTruncated) || errors.Is(err, format.ErrDigest) ||
		errors.Is(err, format.ErrForeign) || errors.Is(err, format.ErrMalformed)
}

// accessEvery is how often the use of an entry is recorded.
const accessEvery = time.Millisecond

// recordUse notes that the entry behind f was used: its modification time is
// our record. Access times are off or coarse on many systems.
func (s *Store) recordUse(f safefs.File, info safefs.Info) {
	if s.o.ReadOnly || s.o.KeepAccess {
		return
	}
	now := s.at.NowNanos()
	if unused := now - info.Mtime; unused >= int64(accessEvery) || unused < 0 {
		_ = f.SetMtime(now)
	}
}

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
