package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// leafWait bounds how long a writer waits for another one in the same leaf
// directory; each holds it for as long as writing two files takes.
const leafWait = 10 * time.Second

// maxTries is how often a put starts over when directories are removed under
// it: by the evictor, or the whole root by a person.
const maxTries = 8

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
	if err := s.evictor.Full(); err != nil { // before anything that takes long
		return store.Failed, 0, err
	}
	if err := format.CheckEntry(e); err != nil {
		return store.Failed, 0, err
	}
	if s.o.ReadOnly {
		return store.Failed, 0, fmt.Errorf("put %s: %s is a read-only layer: %w", e.Key.Short(), s.o.Dir, fs.ErrPermission)
	}
	w := &writer{s: s, e: e, names: s.names(e.Key)}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return store.Failed, 0, fmt.Errorf("put %s: %w", e.Key.Short(), err)
		}
		r, err := s.acquire(true)
		if err != nil {
			return store.Failed, 0, fmt.Errorf("put %s: %w", e.Key.Short(), err)
		}
		res, err := w.put(ctx, r)
		if err != nil && comesBack(err) {
			s.dropIfGone(r)
		}
		r.release()
		if err == nil {
			return res, w.size(), nil
		}
		if !comesBack(err) || try == maxTries {
			return store.Failed, 0, fmt.Errorf("put %s: %w", e.Key.Short(), err)
		}
	}
}

// comesBack says whether trying again may help: a directory was removed under
// the writer, or, without locks, another writer took the number.
func comesBack(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ESTALE)
}

// writer is one put.
type writer struct {
	s     *Store
	e     *store.Entry
	names leafNames
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
	bin, err := format.EncodeBin(w.e.Key, &a)
	if err != nil {
		return err
	}
	src, err := format.EncodeSrc(w.e.Recipe)
	if err != nil {
		return err
	}
	w.bin, w.src = bin, src
	takes := w.usage().Plus(directories(len(w.names) - 1)).Bytes
	if w.s.o.MaxSize > 0 && takes > w.s.o.MaxSize {
		return fmt.Errorf("it takes %d bytes, the limit is %d: %w", takes, w.s.o.MaxSize, store.ErrTooLarge)
	}
	return nil
}

// size is how long the files are, usage what they take.
func (w *writer) size() int64 { return w.bin.Size + int64(len(w.src)) }

func (w *writer) usage() usage {
	return usage{Bytes: blocks(w.bin.Size) + blocks(int64(len(w.src))), Entries: 1}
}

func (w *writer) put(ctx context.Context, r *root) (store.PutResult, error) {
	m, err := r.meta(w.s.o.hooks.noLocks)
	if err != nil {
		return store.Failed, err
	}
	// Most entries that are there already are found without the lock.
	leaf, err := r.dir.OpenDir(w.names.path())
	switch {
	case err == nil:
		found, err := w.s.survey(leaf, w.e.Key)
		leaf.Close()
		if err != nil {
			return store.Failed, err
		}
		if found.same != nil && !w.e.Artifact.Better(found.artifact) {
			return store.Existing, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return store.Failed, err
	}
	// Encoding takes the longest, so what is dropped is dropped before.
	before, err := w.s.evictor.Reserve(m.account)
	if err != nil {
		return store.Failed, err
	}
	if err := w.encode(); err != nil {
		return store.Failed, err
	}
	unlock, err := w.s.lockLeaf(ctx, m, w.names, leafWait)
	if err != nil {
		return store.Failed, err
	}
	defer unlock()
	leaf, fresh, made, err := makeLeaf(r.dir, w.names)
	added := directories(made)
	defer func() {
		w.s.accountAdd(m, evict.ShardOf(w.names[1]), added)
		w.s.evictor.Settle(before, added.Bytes)
	}()
	if err != nil {
		return store.Failed, err
	}
	defer leaf.Close()
	var found survey
	if !fresh {
		if found, err = w.s.survey(leaf, w.e.Key); err != nil {
			return store.Failed, err
		}
	}
	if err := w.s.putHeaders(r, m, w.e); err != nil {
		return store.Failed, err
	}
	res, grown, err := w.write(m, leaf, found)
	added = added.Plus(grown)
	return res, err
}

// lockLeaf takes the lock of changes to a leaf. Where locks do not work it
// returns none: the file system still lets one writer win.
func (s *Store) lockLeaf(ctx context.Context, m *meta, l leafNames, wait time.Duration) (unlock func(), err error) {
	unlock, err = m.locks.Lock(ctx, leafOffset(l), wait)
	switch {
	case err == nil:
		return unlock, nil
	case errors.Is(err, lock.ErrUnsupported):
		return func() {}, nil
	case errors.Is(err, lock.ErrBusy):
		return nil, fmt.Errorf("another writer: %w", err)
	}
	return nil, err
}

// write puts the files where the survey found room. The recipe comes first, so
// that an entry never is without. It returns by how much the leaf has grown.
func (w *writer) write(m *meta, leaf beneath.Dir, found survey) (res store.PutResult, grown usage, err error) {
	if found.same != nil && !w.e.Artifact.Better(found.artifact) {
		return store.Existing, grown, nil
	}
	n, replace := found.place()
	now := w.s.nowNanos()
	var before usage
	// Nobody reads a recipe without its .bin, so a new one needs no care.
	err = fs.ErrExist
	if !replace {
		err = leaf.Write(srcName(n), now, w.src)
	}
	if errors.Is(err, fs.ErrExist) && !replace && w.s.holds(leaf, srcName(n), w.src) {
		err = nil // it was prepared
	}
	if errors.Is(err, fs.ErrExist) { // or a killed writer left one
		before = sizeOf(leaf, n)
		err = leaf.Publish(m.tmp, srcName(n), true, now, w.src)
	}
	if err != nil {
		return store.Failed, grown, err
	}
	if err := leaf.Publish(m.tmp, binName(n), replace, now, w.bin.Parts...); err != nil {
		if !replace && !errors.Is(err, fs.ErrExist) {
			_ = leaf.Remove(srcName(n))
		}
		return store.Failed, grown, err
	}
	grown = w.usage().Minus(before)
	if replace {
		return store.Bettered, grown, nil
	}
	return store.Stored, grown, nil
}

// makeLeaf opens a leaf directory and makes what is missing of it. fresh says
// that it is new, and so empty; made is how many directories it made that the
// account counts.
func makeLeaf(d beneath.Dir, names leafNames) (leaf beneath.Dir, fresh bool, made int, err error) {
	at := d
	for level, name := range names {
		var next beneath.Dir
		err = fs.ErrNotExist
		if level == 0 { // a device is seldom new
			next, err = at.OpenDir(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = at.Mkdir(name)
			fresh = err == nil
			if fresh && level > 0 {
				made++
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = at.OpenDir(name)
			}
		}
		if at != d {
			at.Close()
		}
		if err != nil {
			return beneath.Dir{}, false, made, err
		}
		at = next
	}
	return at, fresh, made, nil
}
