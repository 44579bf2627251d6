package disk

import (
	"context"
	"crypto/sha256"
	"errors"

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
		return nil, rootdir.Miss(errReplaced)
	}
	return rest, nil
}

var errReplaced = errors.New("the entry was replaced")

func (s *Store) getPart(ctx context.Context, k *key.Key, p rootdir.Part) (e *store.Entry, err error) {
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		e, err = s.get(r, k, p)
		return err
	})
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	return e, nil
}

// get looks at the numbers of the leaf directory: 0 by its path, and then, since names
// may collide, the others. It never stops at a gap: eviction makes them.
func (s *Store) get(r *rootdir.Root, k *key.Key, p rootdir.Part) (*store.Entry, error) {
	names := s.at.Names(*k)
	path := names.File(rootdir.BinName(0))
	e, err := s.getFile(r.Dir, path, k, p)
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
		e, err := s.getFile(leaf, rootdir.BinName(n), k, p)
		if err == nil {
			return e, nil
		}
		before = rootdir.MoreTelling(before, rootdir.WrapPath(rootdir.BinName(n), err))
	}
	return nil, before
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
