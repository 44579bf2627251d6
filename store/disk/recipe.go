package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// errWrongRecipe says that a .src is of another key than its .bin.
var errWrongRecipe = errors.New("the recipe of another key")

// Recipe returns the recipe that the entry of k was built from. Its digest was
// checked, and its key is k. Whatever prevents this is a *store.MissError.
func (s *Store) Recipe(ctx context.Context, k key.Key) (*key.Recipe, error) {
	if err := ctx.Err(); err != nil {
		return nil, miss(err)
	}
	r, err := s.acquire(false)
	if err != nil {
		return nil, miss(err)
	}
	defer r.release()
	leaf, err := r.dir.OpenDir(s.names(k).path())
	if err != nil {
		s.dropIfGone(r)
		return nil, miss(err)
	}
	defer leaf.Close()
	numbers, err := listNumbers(leaf)
	if err != nil {
		return nil, miss(err)
	}
	var first error = fmt.Errorf("read recipe: %w", fs.ErrNotExist)
	for _, n := range numbers {
		if err := s.ownsHeader(leaf, n, k); err != nil {
			first = moreTelling(first, wrapPath(binName(n), err))
			continue
		}
		rec, _, err := s.readRecipe(leaf, srcName(n), format.MaxSize)
		if err == nil && rec.Key() != k {
			err = fmt.Errorf("%w: %w", errCollision, errWrongRecipe)
		}
		if err == nil {
			return rec, nil
		}
		return nil, miss(wrapPath(srcName(n), err))
	}
	return nil, &store.MissError{Reason: missReason(first), Cause: first}
}

// ownsRecipe says whether entry n is of the key that its recipe makes.
func (s *Store) ownsRecipe(leaf beneath.Dir, n uint32, made key.Key) error {
	err := s.ownsHeader(leaf, n, made)
	if errors.Is(err, errCollision) {
		return errWrongRecipe
	}
	return err
}

// readRecipe reads a .src at a path and returns its size as well. One larger
// than most is not read.
func (s *Store) readRecipe(d beneath.Dir, path string, most int64) (*key.Recipe, int64, error) {
	f, info, err := s.openBin(d, path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info.Size > most {
		return nil, info.Size, fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	// A large file is not trusted to be as large as it says: it might be a
	// hole. Its digest is checked before it gets memory.
	if info.Size > atOnce {
		if err := checkSrc(f, info.Size); err != nil {
			return nil, info.Size, err
		}
	}
	b := make([]byte, info.Size)
	if err := readFull(f, b); err != nil {
		return nil, info.Size, err
	}
	rec, err := format.DecodeSrc(b)
	return rec, info.Size, err
}

// checkSrc checks all of a .src of size bytes, with little memory.
func checkSrc(f beneath.File, size int64) error {
	b := make([]byte, format.SrcHeaderBytes)
	if err := readFull(f, b); err != nil {
		return err
	}
	if err := format.CheckSrc(b, size); err != nil {
		return err
	}
	err := format.CheckSrcDigest(b, io.NewSectionReader(f, format.SrcHeaderBytes, size-format.SrcHeaderBytes))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return format.ErrTruncated // it shrank
	}
	return err
}
