package disk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Making a directory or a file takes the longest of a put, on file systems that look
// for a place on the disk most of all. The host waits for the put, but not for what is
// made before there is an artifact.

// maxPreparedSrc is how large a recipe may be that is written before its artifact. A larger
// one is a larger program's, whose compiler takes longer than a disk.
const maxPreparedSrc = 64 << 10

// Prepare makes what a Put will find made; see [store.Preparer]: the root, what every root
// has beside its entries, and the directory of the device; with whole the directories of
// the program, too, and the recipe in them. Of a process that is killed, gc removes those
// when they are an hour old.
func (s *Store) Prepare(ctx context.Context, rec *key.Recipe, whole bool) (made bool) {
	_ = s.at.Write(ctx, func(r *rootdir.Root, m *rootdir.Meta) error {
		names := s.at.Names(rec.Key())
		if whole {
			made = s.prepareLeaf(ctx, r, m, names, rec)
		} else if _, err := r.Dir.Lstat(names[componentDevice]); errors.Is(err, fs.ErrNotExist) {
			_ = r.Dir.Mkdir(names[componentDevice])
		}
		return nil
	})
	return made
}

// prepareLeaf makes the directories of a program, unless they are there, and writes its
// recipe. Nobody takes a recipe for an entry while there is no artifact beside it.
func (s *Store) prepareLeaf(ctx context.Context, r *rootdir.Root, m *rootdir.Meta, names rootdir.LeafNames, rec *key.Recipe) (made bool) {
	if _, err := s.evictor.Reserve(m.Account); err != nil {
		return false // nor would there be room for the entry
	}
	unlock, err := m.LockLeaf(ctx, names, 0)
	if err != nil {
		return false
	}
	defer unlock()
	leaf, fresh, n, err := rootdir.MakeLeaf(r.Dir, names)
	s.at.AccountAdd(m, evict.ShardOf(names[1]), rootdir.Directories(n))
	if err != nil {
		return n > 0
	}
	defer leaf.Close()
	if fresh && rec.Image.Size() < maxPreparedSrc {
		if src, err := format.EncodeSrc(rec); err == nil && len(src) <= maxPreparedSrc {
			_ = leaf.Write(rootdir.SrcName(0), s.at.NowNanos(), src)
		}
	}
	return n > 0
}

// Abort removes what Prepare made for a program; see [store.Preparer].
func (s *Store) Abort(ctx context.Context, rec *key.Recipe) {
	_ = s.at.Change(ctx, func(r *rootdir.Root) error {
		names := s.at.Names(rec.Key())
		leaf, err := r.Dir.OpenDir(names.Path())
		if err != nil {
			return nil
		}
		defer leaf.Close()
		m, err := r.Meta()
		if err != nil {
			return err
		}
		unlock, err := m.LockLeaf(ctx, names, 0)
		if err != nil {
			return nil // somebody is about to put
		}
		defer unlock()
		if _, err := leaf.Lstat(rootdir.BinName(0)); errors.Is(err, fs.ErrNotExist) {
			if src, err := format.EncodeSrc(rec); err == nil && s.holds(leaf, rootdir.SrcName(0), src) {
				_ = leaf.Remove(rootdir.SrcName(0))
			}
		}
		s.at.AccountAdd(m, evict.ShardOf(names[1]), evict.Usage{}.Minus(rootdir.Directories(rootdir.Prune(r.Dir, names))))
		return nil
	})
}

// holds reports whether a file of ours has these contents, of which there are few.
func (s *Store) holds(d safefs.Dir, name string, contents []byte) bool {
	b, _, err := s.at.ReadFile(d, name, maxPreparedSrc, nil)
	return err == nil && bytes.Equal(b, contents)
}
