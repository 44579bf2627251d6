package disk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk/evict"
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
	if s.o.ReadOnly || ctx.Err() != nil {
		return false
	}
	r, err := s.acquire(true)
	if err != nil {
		return false
	}
	defer r.release()
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		return false
	}
	names := s.names(rec.Key())
	if whole {
		return s.prepareLeaf(ctx, r, m, names, rec)
	}
	if _, err := r.dir.Lstat(names[componentDevice]); errors.Is(err, fs.ErrNotExist) {
		_ = r.dir.Mkdir(names[componentDevice])
	}
	return false
}

// prepareLeaf makes the directories of a program, unless they are there, and writes its
// recipe. Nobody takes a recipe for an entry while there is no artifact beside it.
func (s *Store) prepareLeaf(ctx context.Context, r *root, m *meta, names leafNames, rec *key.Recipe) (made bool) {
	if _, err := s.evictor.Reserve(m.account); err != nil {
		return false // nor would there be room for the entry
	}
	unlock, err := s.lockLeaf(ctx, m, names, 0)
	if err != nil {
		return false
	}
	defer unlock()
	leaf, fresh, n, err := makeLeaf(r.dir, names)
	s.accountAdd(m, evict.ShardOf(names[1]), directories(n))
	if err != nil {
		return n > 0
	}
	defer leaf.Close()
	if fresh && rec.Image.Size() < maxPreparedSrc {
		if src, err := format.EncodeSrc(rec); err == nil && len(src) <= maxPreparedSrc {
			_ = leaf.Write(srcName(0), s.nowNanos(), src)
		}
	}
	return n > 0
}

// Abort removes what Prepare made for a program; see [store.Preparer].
func (s *Store) Abort(ctx context.Context, rec *key.Recipe) {
	r, err := s.acquire(false)
	if err != nil {
		return
	}
	defer r.release()
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		return
	}
	names := s.names(rec.Key())
	unlock, err := s.lockLeaf(ctx, m, names, 0)
	if err != nil {
		return // somebody is about to
	}
	defer unlock()
	leaf, err := r.dir.OpenDir(names.path())
	if err != nil {
		return
	}
	defer leaf.Close()
	if _, err := leaf.Lstat(binName(0)); errors.Is(err, fs.ErrNotExist) {
		if src, err := format.EncodeSrc(rec); err == nil && s.holds(leaf, srcName(0), src) {
			_ = leaf.Remove(srcName(0))
		}
	}
	s.accountAdd(m, evict.ShardOf(names[1]), usage{}.Minus(directories(prune(r.dir, names))))
}

// holds says whether a file of ours has these contents, of which there are few.
func (s *Store) holds(d beneath.Dir, name string, contents []byte) bool {
	if len(contents) > maxPreparedSrc {
		return false
	}
	f, info, err := d.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if info.Kind != beneath.Regular || !s.trusted(info) || info.Size != int64(len(contents)) {
		return false
	}
	b := make([]byte, len(contents))
	return readFull(f, b) == nil && bytes.Equal(b, contents)
}
