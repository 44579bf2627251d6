package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/lock"
)

// sweepWait is how long a sweep waits for another one, or for an evictor.
const sweepWait = time.Minute

// sweep is one run of Verify, GC or Clear over the whole root.
type sweep struct {
	s        *Store
	ctx      context.Context
	r        *root
	m        *meta
	report   Report
	progress func(done int64)
	before   *usage // what the account said at the start; nil: it cannot be read
	seen     usage
	others   usage // of them, of another version: the account is not for them
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
		unlock, err := w.m.locks.Lock(ctx, evictorByte, sweepWait)
		switch {
		case err == nil:
			defer unlock()
		case !errors.Is(err, lock.ErrUnsupported):
			return fail(err)
		}
		w.before = s.startCount(w.m, renew)
	}
	if err := run(w); err != nil {
		return fail(err)
	}
	return w.report, nil
}

// recount corrects the account by what a complete walk saw. What the sweep
// itself removed is off the account already.
func (w *sweep) recount(walk *walker) {
	if w.before != nil && !walk.partial {
		w.s.correct(w.m, *w.before, w.seen.minus(w.others))
	}
}

// other notes that an item stays that is of another version.
func (w *sweep) other(u usage) {
	w.others.bytes += u.bytes
	w.others.entries += u.entries
}

// passed notes what is in the place of a directory.
func (w *sweep) passed(location string, err error) {
	w.report.problem(location, err, false)
}

// saw counts an item.
func (w *sweep) saw(it *item) {
	u := it.usage()
	w.report.Bytes += u.bytes
	w.seen.bytes += u.bytes
	w.seen.entries += u.entries
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
	u := sizeOf(leaf, n)
	if err := w.s.removeEntry(w.m, leaf, n, everything); err != nil {
		return false
	}
	w.report.removed(u)
	return true
}

func (w *sweep) rmdir(parent beneath.Dir, name string) error {
	err := parent.Rmdir(name)
	if err == nil {
		w.report.EmptyDirs++
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
