package disk

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// GCOptions say what GC removes.
type GCOptions struct {
	MaxAge  time.Duration // entries not used for longer; 0: none for age
	Older   time.Duration // entries of older versions not used for longer; 0: MaxAge is for these, too
	MaxSize int64         // instead of the store's limit; 0: the store's
	DryRun  bool          // report only

	// Only is what may be removed; nil is anything. With it nothing goes but entries, and none for the limit.
	Only func(store.Info) bool
	Goes func(store.Info) // is called for each entry that would go; may be nil
}

// GC removes what nobody needs: entries that were not used for too long or can hit nowhere,
// what killed writers left, empty directories, and then as many entries as the limit asks,
// in the order of the policy. Unlike the evictor it treats entries of other versions like
// all others. It counts the account anew. progress, which may be nil, is called with the
// number of entries so far.
func (s *Store) GC(ctx context.Context, o GCOptions, progress func(done int64)) (Report, error) {
	return s.sweep(ctx, "gc", !o.DryRun, true, progress, func(w *sweep) error { return w.gc(o) })
}

func (w *sweep) gc(o GCOptions) error {
	w.report.DryRun = o.DryRun
	if o.Only == nil {
		w.gather()
	}
	l := lister{s: w.s, devices: make(map[key.Digest]key.Device)}
	err := w.items(func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (gone, other bool) {
		if gone, other = w.gcItem(&l, leaf, names, it, o); !gone {
			w.uses(leaf, it)
		}
		return gone, other
	})
	if err != nil || o.Only != nil {
		return err
	}
	if err := w.shrink(&l, o); err != nil {
		return err
	}
	if err := w.collectHeaders(); err != nil {
		return err
	}
	for kind, age := range map[store.Kind]time.Duration{store.Manifests: o.MaxAge, shared.Spool: spoolAge} {
		old := func(_ shared.File, info safefs.Info) bool { return age > 0 && w.olderThan(age, info) }
		if err := w.collect(kind, old); err != nil {
			return err
		}
	}
	if !o.DryRun {
		_ = w.m.Dir.Remove(rootdir.OrderFile)
	}
	return w.temporary()
}

// gcItem removes an item that is damaged, too old or left over. It says
// whether the item is gone, or would be, and whether it is of another version.
func (w *sweep) gcItem(l *lister, leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item, o GCOptions) (gone, other bool) {
	if it.Bin == nil {
		if !w.isOrphan(it) || o.Only != nil {
			return false, false
		}
		w.report.Orphans++
		return o.DryRun || w.removeOrphan(leaf, names, it.N), false
	}
	if it.Bin.Kind == safefs.Directory {
		return false, false
	}
	old, bad, err := w.s.unneeded(leaf, names, it, o)
	if other = errors.Is(err, format.ErrVersion); other {
		w.report.OtherVersions++
	}
	if bad {
		w.report.Damaged++
	}
	if old = old && (bad || !pinned(w.r, names)); !old && !bad || o.Only != nil && !o.Only(l.info(leaf, names, it)) {
		return false, other
	}
	if o.Goes != nil && o.DryRun {
		o.Goes(l.info(leaf, names, it))
	}
	gone = o.DryRun || w.remove(leaf, names, it.N, true, func() bool {
		info, err := leaf.Lstat(rootdir.BinName(it.N))
		return err == nil && info.Mtime == it.Bin.Mtime && info.Ino == it.Bin.Ino
	})
	if gone && !o.DryRun {
		why := records.Old
		if bad {
			why = records.Damaged
		}
		w.gone(why).Leaf(names)
	}
	if bad {
		w.report.problem(names.File(rootdir.BinName(it.N)), err, gone && !o.DryRun)
	}
	return gone, other
}

// unneeded reports whether an entry is older than anybody wants, and whether it is bad, for
// what err says. One that was used in the future, by a clock that was wrong, is new.
func (s *Store) unneeded(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item, o GCOptions) (old, bad bool, err error) {
	unused := s.at.NowNanos() - it.Bin.Mtime
	old = o.MaxAge > 0 && unused > int64(o.MaxAge)
	_, err = s.header(leaf, names, it.N)
	if !old && o.Older > 0 && unused > int64(o.Older) {
		old = s.isOlder(leaf, it.N, err)
	}
	return old, hitsNowhere(err), err
}

// hitsNowhere reports whether the entry that gave err is of no use to anybody.
func hitsNowhere(err error) bool {
	return rootdir.Damaged(err) || errors.Is(err, rootdir.ErrMisplaced)
}

// shrink removes entries until what is left is within the limit. It walks a
// second time, batch by batch, so that it need not remember every entry.
func (w *sweep) shrink(l *lister, o GCOptions) error {
	limit := cmp.Or(max(o.MaxSize, 0), w.s.o.MaxSize)
	left := w.left.Bytes + w.books.Shared()
	if limit <= 0 || left <= limit {
		return nil
	}
	root := &evictable{s: w.s, r: w.r, m: w.m}
	if o.DryRun {
		root.skip = func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) bool {
			if it.Bin == nil || it.Bin.Kind == safefs.Directory {
				return false
			}
			old, bad, _ := w.s.unneeded(leaf, names, it, o)
			return old || bad
		}
	}
	t := evict.Trim{
		Root: root, Books: w.books, Policy: w.s.o.Policy, Bounds: w.s.o.hooks.bounds, Above: limit, Down: limit,
		Everything: true, DryRun: o.DryRun, Extra: left - w.books.Total(),
		Freed: func(v *evict.Victim, u evict.Usage) {
			switch {
			case !v.Entry:
			case !o.DryRun:
				w.gone(records.Evicted).Add(placeOf(v))
			case o.Goes != nil:
				w.victim(l, v, o.Goes)
			}
			w.report.Removed += u.Entries
			w.report.RemovedBytes += u.Bytes
			w.progress(w.report.Entries)
		},
	}
	return cmp.Or(t.Run(w.ctx), w.ctx.Err())
}

// victim calls f with the description of a victim.
func (w *sweep) victim(l *lister, v *evict.Victim, f func(store.Info)) {
	names := leafOf(v)
	leaf, err := w.r.Dir.OpenDir(names.Path())
	if err != nil {
		return
	}
	defer leaf.Close()
	it := rootdir.Item{N: v.Number, Bin: rootdir.Stat(leaf, rootdir.BinName(v.Number)), Src: rootdir.Stat(leaf, rootdir.SrcName(v.Number))}
	if it.Bin != nil {
		f(l.info(leaf, names, &it))
	}
}

// Clear removes the entries that filter says, or with nil all of them, of
// whatever version; then empty directories. What is not ours stays, and so do
// statistics. With nil the header files that recipes named go too. progress, which may be
// nil, is called with the number of entries so far.
func (s *Store) Clear(ctx context.Context, filter func(store.Info) bool, progress func(done int64)) (Report, error) {
	return s.clear(ctx, filter, false, progress)
}

// WouldClear reports what Clear would remove.
func (s *Store) WouldClear(ctx context.Context, filter func(store.Info) bool, progress func(done int64)) (Report, error) {
	return s.clear(ctx, filter, true, progress)
}

func (s *Store) clear(ctx context.Context, filter func(store.Info) bool, dry bool, progress func(done int64)) (Report, error) {
	l := lister{s: s, devices: make(map[key.Digest]key.Device)}
	return s.sweep(ctx, "clear", !dry, !dry, progress, func(w *sweep) error {
		w.report.DryRun = dry
		err := w.items(func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (gone, other bool) {
			var info store.Info
			if filter != nil && it.Bin != nil {
				info = l.info(leaf, names, it)
			}
			wanted := (filter == nil || it.Bin != nil && filter(info)) && clearable(it)
			gone = wanted && (dry || w.remove(leaf, names, it.N, true, func() bool { return true }))
			return gone, errors.Is(info.Bad, format.ErrVersion)
		})
		if err != nil || dry {
			return err
		}
		for i := 0; filter == nil && i < len(shared.Kinds); i++ {
			if err := w.collect(shared.Kinds[i], func(shared.File, safefs.Info) bool { return true }); err != nil {
				return err
			}
		}
		return w.temporary()
	})
}

// clearable reports whether an item is made of files: a directory that somebody
// gave one of our names stays.
func clearable(it *rootdir.Item) bool {
	return (it.Bin == nil || it.Bin.Kind != safefs.Directory) && (it.Src == nil || it.Src.Kind != safefs.Directory)
}
