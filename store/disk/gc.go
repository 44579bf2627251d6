package disk

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
)

// GCOptions say what GC removes.
type GCOptions struct {
	MaxAge  time.Duration // entries not used for longer; 0: none for age
	MaxSize int64         // instead of the store's limit; 0: the store's
	DryRun  bool          // report only
}

// GC removes what nobody needs: entries that were not used for too long or can
// hit nowhere, what killed writers left, empty directories, and then as many
// entries as the limit asks, in the order of the policy. Unlike the evictor it
// treats entries of other versions like all others. It counts the account
// anew. progress, which may be nil, is called with the number of entries so
// far.
func (s *Store) GC(ctx context.Context, o GCOptions, progress func(done int64)) (Report, error) {
	return s.sweep(ctx, "gc", !o.DryRun, true, progress, func(w *sweep) error { return w.gc(o) })
}

func (w *sweep) gc(o GCOptions) error {
	var c census
	walk := walker{ctx: w.ctx, passed: w.passed, visit: func(leaf beneath.Dir, names leafNames, items []item) error {
		for i := range items {
			w.saw(&items[i])
			gone, other := w.gcItem(leaf, names, &items[i], o)
			if gone {
				continue
			}
			u := items[i].usage()
			c.total.bytes += u.bytes
			c.total.entries += u.entries
			if other {
				w.other(u)
			}
			if v, ok := w.s.victim(names, &items[i]); ok {
				v.other = other
				if w.s.o.Policy == Cost && v.entry {
					cost, _, _ := w.s.look(leaf, v.n) // what cannot be read saves nothing
					v.saving = float64(cost)
				}
				c.victims = append(c.victims, v)
			}
		}
		return w.ctx.Err()
	}}
	if !o.DryRun {
		walk.rmdir = w.rmdir
	}
	if err := walk.walk(w.r.dir); err != nil {
		return err
	}
	w.shrink(&c, o)
	if !o.DryRun {
		w.recount(&walk)
	}
	return w.temporary(o.DryRun)
}

// gcItem removes an item that is damaged, too old or left over. It says
// whether the item is gone, or would be, and whether it is of another version.
func (w *sweep) gcItem(leaf beneath.Dir, names leafNames, it *item, o GCOptions) (gone, other bool) {
	if it.bin == nil {
		return w.gcOrphan(leaf, names, it, o.DryRun), false
	}
	if it.bin.Kind == beneath.Directory {
		return false, false
	}
	err := w.s.checkHeader(leaf, names, it.n)
	old := o.MaxAge > 0 && w.s.nowNanos()-it.bin.Mtime > int64(o.MaxAge)
	bad := err != nil && (damaged(err) || errors.Is(err, errMisplaced))
	if other = errors.Is(err, format.ErrVersion); other {
		w.report.OtherVersions++
	}
	if bad {
		w.report.Damaged++
	}
	if !old && !bad {
		return false, other
	}
	gone = o.DryRun
	if o.DryRun {
		w.report.removed(it.usage())
	} else {
		gone = w.remove(leaf, names, it.n, true, func() bool {
			info, err := leaf.Lstat(binName(it.n))
			return err == nil && info.Mtime == it.bin.Mtime && info.Ino == it.bin.Ino
		})
	}
	if bad {
		w.report.problem(names.file(binName(it.n)), err, gone && !o.DryRun)
	}
	return gone, other
}

// checkHeader says what is wrong with an entry without reading its code.
func (s *Store) checkHeader(leaf beneath.Dir, names leafNames, n uint32) error {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := readHeader(f, info)
	if err == nil && s.names(h.Key) != names {
		err = errMisplaced
	}
	return err
}

func (w *sweep) gcOrphan(leaf beneath.Dir, names leafNames, it *item, dryRun bool) bool {
	if it.src.Kind != beneath.Regular || w.s.nowNanos()-it.src.Mtime <= int64(orphanAge) {
		return false
	}
	w.report.Orphans++
	if dryRun {
		w.report.RemovedBytes += it.src.Size
		return true
	}
	return w.removeRecipe(leaf, names, it.n, func() bool {
		_, err := leaf.Lstat(binName(it.n))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// shrink removes entries until what is left is within the limit.
func (w *sweep) shrink(c *census, o GCOptions) {
	limit := w.s.o.MaxSize
	if o.MaxSize > 0 {
		limit = o.MaxSize
	}
	if limit <= 0 {
		return
	}
	left := c.total.bytes
	for _, v := range c.inOrder(w.s.o.Policy, w.s.o.Now()) {
		if left <= limit || w.ctx.Err() != nil {
			return
		}
		u := usage{bytes: v.size}
		if v.entry {
			u.entries = 1
		}
		if !o.DryRun {
			was, gone := w.s.removeVictim(w.ctx, w.r, w.m, v, true)
			if !gone {
				continue
			}
			u.bytes = was.bytes
			if v.other {
				w.others = w.others.minus(was)
			}
		}
		left -= u.bytes
		w.report.removed(u)
	}
}
