package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// sweepWait is how long a sweep waits for another one, and for evictors.
const sweepWait = time.Minute

// sweep is one run of Verify, GC or Clear over the whole root.
type sweep struct {
	s        *Store
	ctx      context.Context
	r        *rootdir.Root
	m        *rootdir.Meta
	report   Report
	progress func(done int64)
	books    *evict.Books
	n        *evict.Count // of the shard that is walked
	left     evict.Usage  // what is there and stays, whatever its version
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
	w.r, err = s.at.Acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.report, nil
	case err != nil:
		return fail(err)
	}
	defer w.r.Release()
	if alone {
		if err := s.at.Writable(); err != nil {
			return fail(err)
		}
		if w.m, err = w.r.Meta(); err != nil {
			return fail(err)
		}
		deadline := time.Now().Add(sweepWait)
		for n := range evict.Locks + 1 {
			unlock, err := w.m.LockEvict(ctx, n, time.Until(deadline))
			if err != nil {
				return fail(err)
			}
			defer unlock()
		}
		if renew {
			if err := w.m.Account.Renew(); err != nil {
				s.o.Trace.Warn("account not renewed", "reason", err)
			}
		}
	}
	var account *evict.Account
	if m, err := w.r.LookMeta(); err == nil {
		account = m.Account
	}
	w.books = evict.OpenBooks(account, !alone, s.o.Now, s.o.Trace)
	err = shared.EachUsage(ctx, w.r, func(u evict.Usage) { w.report.Bytes += u.Bytes })
	if err == nil {
		err = run(w)
	}
	if err == nil && alone {
		err = w.books.CountShared(func(f func(evict.Usage)) error { return shared.EachUsage(ctx, w.r, f) })
	}
	if err != nil {
		return fail(err)
	}
	return w.report, nil
}

// items walks all shards, and corrects the account of each. visit says of an item whether it
// is gone, or would be, and whether it is of another version. Directories that are empty go
// too, with prune.
func (w *sweep) items(prune bool, visit func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (gone, other bool)) error {
	walk := &rootdir.Walker{}
	walk.Visit = func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
		for i := range items {
			it := &items[i]
			w.there(it.Usage())
			if it.Bin != nil {
				w.report.Entries++
				w.progress(w.report.Entries)
			}
			gone, other := visit(leaf, names, it)
			dirs := rootdir.Directories(walk.Freed(items))
			switch {
			case gone && !prune:
				w.took(it.Usage().Plus(dirs))
			case other && !gone: // the account is not for it
				w.n.Saw(evict.Usage{}.Minus(it.Usage().Plus(dirs)))
			}
		}
		return w.ctx.Err()
	}
	walk.Ctx = w.ctx
	walk.Entered = func(rootdir.LeafNames) { w.there(rootdir.Directories(1)) }
	walk.Passed = func(location string, err error) { w.report.problem(location, err, false) }
	if prune {
		walk.Rmdir = w.rmdir
	}
	var list *rootdir.Images
	order := w.books.Order()
	err := w.books.Each(order, w.s.o.hooks.bounds, func() (err error) {
		list, err = walk.Images(w.r.Dir, order)
		return err
	}, func(shard int, n *evict.Count) (err error) {
		w.n = n
		n.Complete, err = walk.Shard(w.r.Dir, list, shard)
		w.partial = w.partial || !n.Complete
		return err
	})
	if err != nil || !prune {
		return err
	}
	for _, d := range list.Devices {
		if list.Filled[d] || !rootdir.JustMade(w.r.Dir.Lstat(d)) {
			_ = w.rmdir(w.r.Dir, rootdir.LeafNames{d}, 0)
		}
	}
	return nil
}

func (w *sweep) there(u evict.Usage) {
	w.report.Bytes += u.Bytes
	w.left = w.left.Plus(u)
	w.n.Saw(u)
}

// took notes that something is removed.
func (w *sweep) took(u evict.Usage) {
	w.left = w.left.Minus(u)
	w.n.Took(u)
	w.report.RemovedBytes += u.Bytes
	w.report.Removed += u.Entries
}

// errKept says that something is not removed after all.
var errKept = errors.New("it stays")

// change removes something of a leaf under its lock.
func (w *sweep) change(names rootdir.LeafNames, remove func() (evict.Usage, error)) bool {
	unlock, err := w.m.LockLeaf(w.ctx, names, rootdir.LeafWait)
	if err != nil {
		return false
	}
	defer unlock()
	u, err := remove()
	if err != nil {
		return false
	}
	w.took(u)
	return true
}

// remove removes item n, if still says so under the lock. everything includes a recipe of
// another version.
func (w *sweep) remove(leaf safefs.Dir, names rootdir.LeafNames, n uint32, everything bool, still func() bool) bool {
	return w.change(names, func() (evict.Usage, error) {
		if !still() {
			return evict.Usage{}, errKept
		}
		return rootdir.RemoveEntry(leaf, n, rootdir.Stat(leaf, rootdir.BinName(n)), everything)
	})
}

// removeRecipe removes the .src of item n, if still says so under the lock.
func (w *sweep) removeRecipe(leaf safefs.Dir, names rootdir.LeafNames, n uint32, still func() bool) bool {
	return w.change(names, func() (evict.Usage, error) {
		info, err := leaf.Lstat(rootdir.SrcName(n))
		if err == nil && !still() {
			err = errKept
		}
		if err == nil {
			err = leaf.Remove(rootdir.SrcName(n))
		}
		return rootdir.FileUsage(nil, &info), err
	})
}

// isOrphan reports whether an item is a recipe that a writer left: that puts it first, so
// one that is young is none.
func (w *sweep) isOrphan(it *rootdir.Item) bool {
	return it.Src.Kind == safefs.Regular && w.olderThan(orphanAge, *it.Src)
}

// removeOrphan removes a recipe, unless there is an entry by now.
func (w *sweep) removeOrphan(leaf safefs.Dir, names rootdir.LeafNames, n uint32) bool {
	return w.removeRecipe(leaf, names, n, func() bool {
		_, err := leaf.Lstat(rootdir.BinName(n))
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (w *sweep) rmdir(parent safefs.Dir, names rootdir.LeafNames, level int) error {
	err := parent.Rmdir(names[level])
	if err == nil {
		w.report.EmptyDirs++
		if level > 0 {
			w.took(rootdir.Directories(1))
		}
	}
	return err
}

// temporary removes what killed writers left in .meta/tmp.
func (w *sweep) temporary(dryRun bool) error {
	tmp, err := w.r.Dir.OpenDir(rootdir.MetaDir + "/" + rootdir.TmpDir)
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer tmp.Close()
	var old []string
	err = tmp.Each(func(name string) bool {
		info, err := tmp.Lstat(name)
		if err == nil && info.Kind == safefs.Regular && w.olderThan(orphanAge, info) {
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
	return rootdir.IgnoreGone(err)
}
