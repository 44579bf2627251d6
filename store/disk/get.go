package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"

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
	return s.getPart(ctx, &k, rootdir.Whole)
}

// GetFirst returns the entry of k; see [store.PartGetter]. Binaries behind the first are
// left unread where they are large.
func (s *Store) GetFirst(ctx context.Context, k key.Key) (*store.Entry, error) {
	return s.getPart(ctx, &k, rootdir.First)
}

// GetRest returns the binaries that GetFirst left unread; see [store.PartGetter]. An entry
// whose rest is damaged is removed.
func (s *Store) GetRest(ctx context.Context, k key.Key, a *store.Artifact) ([]store.Binary, error) {
	e, err := s.Get(ctx, k)
	if err != nil {
		if isCorrupt(err) {
			// Its first binary hits, so nobody would store it anew.
			_ = s.Delete(ctx, k)
		}
		return nil, err
	}
	rest := e.Artifact.Binaries[1:]
	same := len(rest) == len(a.Rest)
	for i := 0; same && i < len(rest); i++ {
		same = rest[i].Form == a.Rest[i].Form && sha256.Sum256(rest[i].Data) == a.Rest[i].Digest
	}
	if !same {
		return nil, rootdir.Miss(rootdir.ErrReplaced)
	}
	return rest, nil
}

func (s *Store) getPart(ctx context.Context, k *key.Key, p rootdir.Part) (*store.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, rootdir.Miss(err)
	}
	e, gone, err := s.get(k, p)
	if gone { // somebody may have made another root
		e, _, err = s.get(k, p)
	}
	return e, err
}

// get is Get in the root as it is open. gone says that it was removed.
func (s *Store) get(k *key.Key, p rootdir.Part) (e *store.Entry, gone bool, err error) {
	r, err := s.at.Acquire(false)
	if err != nil {
		return nil, false, rootdir.Miss(err)
	}
	defer r.Release()
	path := s.at.FirstPath(k)
	if e, err = s.getFile(r.Dir, path, k, p); err == nil {
		return e, false, nil
	}
	return s.getOther(r, k, p, rootdir.WrapPath(path, err))
}

// getOther looks at the other numbers of the leaf directory, after 0 gave
// before. It never stops at a gap: eviction makes them.
func (s *Store) getOther(r *rootdir.Root, k *key.Key, p rootdir.Part, before error) (e *store.Entry, gone bool, err error) {
	leaf, err := r.Dir.OpenDir(s.at.Names(*k).Path())
	if err != nil {
		return nil, s.at.DropIfGone(r), rootdir.Miss(rootdir.MoreTelling(before, err))
	}
	defer leaf.Close()
	numbers, err := listNumbers(leaf)
	if err != nil {
		return nil, false, rootdir.Miss(rootdir.MoreTelling(before, err))
	}
	for _, n := range numbers {
		if n == 0 {
			continue
		}
		e, err := s.getFile(leaf, rootdir.BinName(n), k, p)
		if err == nil {
			return e, false, nil
		}
		before = rootdir.MoreTelling(before, rootdir.WrapPath(rootdir.BinName(n), err))
	}
	return nil, false, rootdir.Miss(before)
}

func (s *Store) getFile(d safefs.Dir, path string, k *key.Key, p rootdir.Part) (*store.Entry, error) {
	f, info, err := s.at.OpenBin(d, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, a, err := rootdir.ReadBin(f, info, k, p)
	if err != nil {
		if isCorrupt(err) {
			s.count(stats.Corrupt, 1)
			s.o.Trace.Warn("damaged entry", "path", path, "reason", err)
		}
		return nil, err
	}
	s.recordUse(f, k)
	s.count(stats.DiskBytesRead, info.Size-unread(a))
	return &store.Entry{Key: *k, Artifact: a}, nil
}

// unread returns the bytes of the binaries that were left unread.
func unread(a *store.Artifact) (n int64) {
	for _, r := range a.Rest {
		n += r.Size
	}
	return n
}

func isCorrupt(err error) bool {
	return errors.Is(err, format.ErrTruncated) || errors.Is(err, format.ErrDigest) ||
		errors.Is(err, format.ErrForeign) || errors.Is(err, format.ErrMalformed)
}

// listNumbers returns the numbers of the .bin files in a leaf, ascending.
func listNumbers(leaf safefs.Dir) ([]uint32, error) {
	var numbers []uint32
	err := leaf.Each(func(name string) bool {
		if n, suffix, ok := rootdir.ParseName(name); ok && suffix == rootdir.BinSuffix {
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
