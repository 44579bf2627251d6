package disk

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Get returns the entry of k; see [store.Store]. A hit opens one file, reads
// it and checks its digests. Damage that it meets is counted.
func (s *Store) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, miss(err)
	}
	e, gone, err := s.get(&k)
	if gone { // somebody may have made another root
		e, _, err = s.get(&k)
	}
	return e, err
}

// get is Get in the root as it is open. gone says that it was removed.
func (s *Store) get(k *key.Key) (e *store.Entry, gone bool, err error) {
	r, err := s.acquire(false)
	if err != nil {
		return nil, false, miss(err)
	}
	defer r.release()
	path := s.firstPath(k)
	if e, err = s.getFile(r.dir, path, k); err == nil {
		return e, false, nil
	}
	return s.getOther(r, k, wrapPath(path, err))
}

// getOther looks at the other numbers of the leaf directory, after 0 gave
// first. It never stops at a gap: eviction makes them.
func (s *Store) getOther(r *root, k *key.Key, first error) (e *store.Entry, gone bool, err error) {
	leaf, err := r.dir.OpenDir(s.names(*k).path())
	if err != nil {
		return nil, s.dropIfGone(r), miss(moreTelling(first, err))
	}
	defer leaf.Close()
	numbers, err := listNumbers(leaf)
	if err != nil {
		return nil, false, miss(moreTelling(first, err))
	}
	for _, n := range numbers {
		if n == 0 {
			continue
		}
		e, err := s.getFile(leaf, binName(n), k)
		if err == nil {
			return e, false, nil
		}
		first = moreTelling(first, wrapPath(binName(n), err))
	}
	return nil, false, miss(first)
}

func (s *Store) getFile(d beneath.Dir, path string, k *key.Key) (*store.Entry, error) {
	f, info, err := s.openBin(d, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, a, err := readWhole(f, info, k)
	if err != nil {
		if isCorrupt(err) {
			s.count(stats.Corrupt, 1)
			s.o.Trace.Warn("damaged entry", "path", path, "reason", err)
		}
		return nil, err
	}
	s.recordUse(f, k)
	s.count(stats.DiskBytesRead, info.Size)
	return &store.Entry{Key: *k, Artifact: a}, nil
}

func isCorrupt(err error) bool {
	return errors.Is(err, format.ErrTruncated) || errors.Is(err, format.ErrDigest) ||
		errors.Is(err, format.ErrForeign) || errors.Is(err, format.ErrMalformed)
}

// listNumbers returns the numbers of the .bin files in a leaf, ascending.
func listNumbers(leaf beneath.Dir) ([]uint32, error) {
	var numbers []uint32
	err := leaf.Each(func(name string) bool {
		if n, suffix, ok := parseName(name); ok && suffix == binSuffix {
			numbers = append(numbers, n)
		}
		return true
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the directory was removed meanwhile
	}
	slices.Sort(numbers)
	return numbers, err
}
