package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Put stores an entry; see [store.Store]. It may be called while the build
// lock of the key is held.
func (s *Store) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	res, written, err := s.put(ctx, e)
	store.CountPut(s.o.Recorder, res, written, err)
	if err != nil {
		s.o.Trace.Warn("not stored", "reason", err)
	}
	return res, err
}

func (s *Store) put(ctx context.Context, e *store.Entry) (store.PutResult, int64, error) {
	if err := format.CheckEntry(e); err != nil {
		return store.Failed, 0, err
	}
	w := &writer{s: s, e: e, names: s.at.Names(e.Key)}
	var res store.PutResult
	err := s.at.Write(ctx, func(r *rootdir.Root, m *rootdir.Meta) (err error) {
		res, err = w.put(ctx, r, m)
		return err
	})
	if err != nil {
		return store.Failed, 0, fmt.Errorf("put %s: %w", e.Key.Short(), err)
	}
	return res, w.size(), nil
}

// writer is one put.
type writer struct {
	s     *Store
	e     *store.Entry
	names rootdir.LeafNames
	bin   format.Bin // once encoded
	src   []byte     // likewise
}

// encode makes the bytes of both files, once.
func (w *writer) encode() error {
	if w.src != nil {
		return nil
	}
	a := *w.e.Artifact
	if a.Created.IsZero() {
		a.Created = w.s.o.Now()
	}
	var err error
	if w.bin, err = format.EncodeBin(w.e.Key, &a); err != nil {
		return err
	}
	src, err := format.EncodeSealedSrc(w.e.Recipe, w.seal())
	if err == nil {
		err = w.vetEntry()
	}
	if err != nil {
		return err
	}
	w.src = src
	takes := w.usage().Plus(rootdir.Directories(len(w.names) - 1)).Bytes
	if w.s.o.MaxSize > 0 && takes > w.s.o.MaxSize {
		return fmt.Errorf("it takes %d bytes, the limit is %d: %w", takes, w.s.o.MaxSize, store.ErrTooLarge)
	}
	return nil
}

// size is how long the files are, usage what they take.
func (w *writer) size() int64 { return w.bin.Size + int64(len(w.src)) }

func (w *writer) usage() evict.Usage {
	return evict.Usage{Bytes: rootdir.Blocks(w.bin.Size) + rootdir.Blocks(int64(len(w.src))), Entries: 1}
}

func (w *writer) put(ctx context.Context, r *rootdir.Root, m *rootdir.Meta) (store.PutResult, error) {
	if there, err := w.isThere(r); there || err != nil {
		return store.Existing, err
	}
	// Encoding takes the longest, so what is dropped is dropped before.
	before, err := w.s.evictor.Reserve(m.Account)
	if err != nil {
		return store.Failed, err
	}
	if err := w.encode(); err != nil {
		return store.Failed, err
	}
	unlock, err := m.LockLeaf(ctx, w.names, rootdir.LeafWait)
	if err != nil {
		return store.Failed, err
	}
	defer unlock()
	leaf, fresh, made, err := rootdir.MakeLeaf(r.Dir, w.names)
	added := rootdir.Directories(made)
	defer func() {
		w.s.at.AccountAdd(m, evict.ShardOf(w.names[1]), added)
		w.s.evictor.Settle(before, added.Bytes)
	}()
	if err != nil {
		return store.Failed, err
	}
	defer leaf.Close()
	var found rootdir.Survey
	if !fresh {
		if found, err = w.s.at.Survey(leaf, w.e.Key); err != nil {
			return store.Failed, err
		}
	}
	if err := w.s.putHeaders(r, m, w.e); err != nil {
		return store.Failed, err
	}
	res, grown, err := w.write(m, leaf, fresh, found)
	added = added.Plus(grown)
	return res, err
}

// isThere reports whether there is an entry already, and none is to take its place: most are
// found so, without the lock, also where there is no room for another.
func (w *writer) isThere(r *rootdir.Root) (bool, error) {
	leaf, err := r.Dir.OpenDir(w.names.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer leaf.Close()
	found, err := w.s.at.Survey(leaf, w.e.Key)
	return w.stays(leaf, found), err
}

// stays reports whether what was found of the key stays: it is as good, and may be handed out.
func (w *writer) stays(leaf safefs.Dir, found rootdir.Survey) bool {
	return found.Same != nil && !w.e.Artifact.Better(found.Artifact) && !errors.Is(w.s.vetFile(leaf, *found.Same, w.e.Key), rootdir.ErrUntrusted)
}

// write puts the files where the survey found room. The recipe comes first, so
// that an entry never is without. It returns by how much the leaf has grown.
func (w *writer) write(m *rootdir.Meta, leaf safefs.Dir, fresh bool, found rootdir.Survey) (res store.PutResult, grown evict.Usage, err error) {
	if w.stays(leaf, found) {
		return store.Existing, grown, nil
	}
	n, replace := found.Place()
	now := w.s.at.NowNanos()
	var before evict.Usage
	if !fresh { // a killed writer may have left a recipe, too
		before = rootdir.FileUsage(rootdir.Stat(leaf, rootdir.BinName(n)), rootdir.Stat(leaf, rootdir.SrcName(n)))
	}
	err = leaf.Write(rootdir.SrcName(n), now, w.src)
	if errors.Is(err, fs.ErrExist) { // it is to be replaced, or a killed writer left it
		err = leaf.Publish(m.Tmp, rootdir.SrcName(n), true, now, w.src)
	}
	if err != nil {
		return store.Failed, grown, err
	}
	if err := leaf.Publish(m.Tmp, rootdir.BinName(n), replace, now, w.bin.Parts...); err != nil {
		if !replace && !errors.Is(err, fs.ErrExist) {
			_ = leaf.Remove(rootdir.SrcName(n))
		}
		return store.Failed, grown, err
	}
	grown = w.usage().Minus(before)
	if replace {
		return store.Bettered, grown, nil
	}
	return store.Stored, grown, nil
}

// Delete removes the entry of k, and what is damaged under the same names; see
// [store.Store]. Entries of other keys and of other versions stay.
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	err := s.at.Change(ctx, func(r *rootdir.Root) error { return s.deleteIn(ctx, r, k) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", k.Short(), err)
	}
	return nil
}

func (s *Store) deleteIn(ctx context.Context, r *rootdir.Root, k key.Key) error {
	names := s.at.Names(k)
	leaf, err := r.Dir.OpenDir(names.Path())
	if err != nil {
		return err
	}
	defer leaf.Close()
	m, err := r.Meta()
	if err != nil {
		return err
	}
	unlock, err := m.LockLeaf(ctx, names, rootdir.LeafWait)
	if err != nil {
		return err
	}
	defer unlock()
	numbers, _, err := rootdir.Numbers(leaf)
	if err != nil {
		return err
	}
	var freed evict.Usage
	defer func() { s.at.AccountAdd(m, evict.ShardOf(names[1]), evict.Usage{}.Minus(freed)) }()
	for _, n := range numbers {
		if err := s.at.Owns(leaf, rootdir.BinName(n), k); err == nil || rootdir.Damaged(err) && !rootdir.IsDirectory(leaf, rootdir.BinName(n)) {
			u, err := rootdir.RemoveEntry(leaf, n, rootdir.Stat(leaf, rootdir.BinName(n)), false)
			if err != nil {
				return err
			}
			freed = freed.Plus(u)
		}
	}
	freed = freed.Plus(rootdir.Directories(rootdir.Prune(r.Dir, names)))
	return nil
}
