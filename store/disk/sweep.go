package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// sweepWait is how long a sweep waits for another one, and for evictors.
const sweepWait = time.Minute

// sweep is one run of Verify, GC or Clear over the whole root.
type sweep struct {
	s        *Store
	ctx      context.Context
	r        *root
	m        *meta
	report   Report
	progress func(done int64)
	books    *evict.Books // nil: nothing is corrected
	n        *evict.Count // of the shard that is walked
	left     usage        // what is there and stays, whatever its version
	partial  bool         // the medium failed: not all was seen
}

// sweep calls run with an open root, and does nothing where there is none.
// Alone, it excludes evictors and other sweeps; renew puts a new account in the
// place of one that can never be read.
func (s *Store) sweep(ctx context.Context, op string, alone, renew bool, progress func(int64), run func(*sweep) error) (Report, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	w := &sweep{s: s, ctx: ctx, progress: progress}
	fail := func(err error) (Report, error) { return w.report, fmt.Errorf("%s %s: %w", op, s.o.Dir, err) }
	var err error
	w.r, err = s.acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.report, nil
	case err != nil:
		return fail(err)
	}
	defer w.r.release()
	if alone {
		if s.o.ReadOnly {
			return fail(fmt.Errorf("a read-only layer: %w", fs.ErrPermission))
		}
		if w.m, err = w.r.meta(s.o.hooks.noLocks); err != nil {
			return fail(err)
		}
		deadline := time.Now().Add(sweepWait)
		for n := range evict.Locks + 1 {
			unlock, err := w.m.locks.Lock(ctx, evictOffset(n), time.Until(deadline))
			switch {
			case err == nil:
				defer unlock()
			case !errors.Is(err, lock.ErrUnsupported):
				return fail(err)
			}
		}
		if renew {
			if err := w.m.account.Renew(); err != nil {
				s.o.Trace.Warn("account not renewed", "reason", err)
			}
		}
		w.books = evict.OpenBooks(w.m.account, s.o.Now, s.o.Trace)
	}
	if err = w.countShared(); err == nil {
		err = run(w)
	}
	if err == nil && w.books != nil {
		err = w.books.CountShared(func(f func(usage)) error { return eachShared(ctx, w.r, f) })
	}
	if err != nil {
		return fail(err)
	}
	return w.report, nil
}

// walk walks all shards, and corrects the account of each.
func (w *sweep) walk(walk *walker) error {
	walk.ctx, walk.passed, walk.entered = w.ctx, w.passed, w.entered
	books := w.books
	if books == nil {
		books = evict.OpenBooks(nil, w.s.o.Now, w.s.o.Trace)
	}
	var list *images
	err := books.Each(books.Order(), w.s.o.hooks.bounds, func(shards []int) (fit int, err error) {
		list, fit, err = walk.images(w.r.dir, shards, bound(w.s.o.hooks.images, maxImages))
		return fit, err
	}, func(shard int, n *evict.Count) (err error) {
		w.n = n
		n.Complete, err = walk.shard(w.r.dir, list, shard)
		w.partial = w.partial || !n.Complete
		return err
	})
	if err != nil {
		return err
	}
	if walk.rmdir != nil {
		for _, d := range list.devices {
			if !walk.filled[d] && justMade(w.r.dir.Lstat(d)) {
				continue
			}
			_ = walk.rmdir(w.r.dir, leafNames{d}, 0)
		}
	}
	return nil
}

// other notes that an item stays that is of another version: the account is not
// for it.
func (w *sweep) other(u usage) { w.n.Saw(usage{}.Minus(u)) }

// entered counts a directory.
func (w *sweep) entered(leafNames) { w.there(directories(1)) }

func (w *sweep) there(u usage) {
	w.report.Bytes += u.Bytes
	w.left = w.left.Plus(u)
	w.n.Saw(u)
}

// took notes that something is removed.
func (w *sweep) took(u usage) {
	w.left = w.left.Minus(u)
	w.n.Took(u)
	w.report.RemovedBytes += u.Bytes
	w.report.Removed += u.Entries
}

// passed notes what is in the place of a directory.
func (w *sweep) passed(location string, err error) {
	w.report.problem(location, err, false)
}

// saw counts an item.
func (w *sweep) saw(it *item) {
	w.there(it.usage())
	if it.bin != nil {
		w.report.Entries++
		w.progress(w.report.Entries)
	}
}

// remove removes item n under the lock of its leaf, if still then says so.
// everything includes a recipe of another version.
func (w *sweep) remove(leaf beneath.Dir, names leafNames, n uint32, everything bool, still func() bool) bool {
	unlock, err := w.s.lockLeaf(w.ctx, w.m, names, leafWait)
	if err != nil {
		return false
	}
	defer unlock()
	if !still() {
		return false
	}
	u, err := removeEntry(leaf, n, stat(leaf, binName(n)), everything)
	if err != nil {
		return false
	}
	w.took(u)
	return true
}

func (w *sweep) rmdir(parent beneath.Dir, names leafNames, level int) error {
	err := parent.Rmdir(names[level])
	if err == nil {
		w.report.EmptyDirs++
		if level > 0 {
			w.took(directories(1))
		}
	}
	return err
}

// temporary removes what killed writers left in .meta/tmp.
func (w *sweep) temporary(dryRun bool) error {
	tmp, err := w.r.dir.OpenDir(metaDir + "/" + tmpDir)
	if err != nil {
		return ignoreGone(err)
	}
	defer tmp.Close()
	var old []string
	err = tmp.Each(func(name string) bool {
		info, err := tmp.Lstat(name)
		if err == nil && info.Kind == beneath.Regular && w.s.nowNanos()-info.Mtime > int64(orphanAge) {
			old = append(old, name)
			w.report.RemovedBytes += info.Size
		}
		return true
	})
	for _, name := range old {
		w.report.Temporary++
		if !dryRun {
			_ = tmp.Remove(name)
		}
	}
	return ignoreGone(err)
}
