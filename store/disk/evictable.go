package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/pins"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// evictable is a root for who counts and trims it.
type evictable struct {
	s    *Store
	r    *rootdir.Root
	m    *rootdir.Meta                                                         // nil: nothing is removed
	skip func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) bool // what is as good as gone; may be nil
}

func (s *Store) newEvictor() *evict.Evictor {
	noted := s.newGone(records.Evicted) // of one run after the other
	return evict.New(evict.Options{
		MaxSize: s.o.MaxSize, Policy: s.o.Policy, Bounds: s.o.hooks.bounds, Now: s.o.Now, Trace: s.o.Trace,
		Open: func() (evict.Root, *evict.Account, func(), error) {
			r, err := s.at.Acquire(false)
			if err != nil {
				return nil, nil, nil, err
			}
			m, err := r.Meta()
			if err != nil {
				r.Release()
				return nil, nil, nil, err
			}
			return &evictable{s: s, r: r, m: m}, m.Account, func() { noted.Write(m); r.Release() }, nil
		},
		Evicted: func(v *evict.Victim, u evict.Usage) {
			if v.Entry {
				noted.Add(placeOf(v))
				s.count(stats.DiskEvictions, 1)
				s.count(stats.DiskBytesEvicted, u.Bytes)
			}
		},
	})
}

func (e *evictable) Lock(n int) (unlock func(), err error) {
	return e.m.LockEvict(context.Background(), n, 0)
}

func (e *evictable) Shared(ctx context.Context, f func(evict.Usage)) error {
	return shared.EachUsage(ctx, e.r, f)
}

func (e *evictable) List(ctx context.Context, shards []int) (evict.Walk, error) {
	list, err := (&rootdir.Walker{Ctx: ctx}).Images(e.r.Dir, shards)
	return func(ctx context.Context, shard int, of evict.Slice, see func(evict.Found)) (bool, error) {
		complete, err := e.walk(ctx, list, shard, of, see)
		if err != nil {
			err = fmt.Errorf("count %s: %w", e.s.o.Dir, err)
		}
		return complete, err
	}, err
}

func (e *evictable) walk(ctx context.Context, list *rootdir.Images, shard int, of evict.Slice, see func(evict.Found)) (complete bool, err error) {
	w := rootdir.Walker{Ctx: ctx, Wanted: func(names rootdir.LeafNames) bool { return of.Has(names) }}
	w.Entered = func(names rootdir.LeafNames) {
		if of.Of == 0 || names[3] != "" { // else it is in all slices
			see(evict.Found{All: rootdir.Directories(1), Account: rootdir.Directories(1)})
		}
	}
	w.Visit = func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
		if e.s.o.hooks.counted != nil {
			e.s.o.hooks.counted(e.s)
		}
		for i := range items {
			if e.skip != nil && e.skip(leaf, names, &items[i]) {
				continue
			}
			f, err := e.found(leaf, names, &items[i], rootdir.Directories(w.Freed(items)))
			if err != nil {
				return err
			}
			see(f)
		}
		return nil
	}
	return w.Shard(e.r.Dir, list, shard)
}

// orphanAge is how old a recipe without an entry, or a temporary file, must be
// to be counted as left behind by a writer that is gone.
const orphanAge = time.Hour

// found describes an item, whose last removal frees the directories.
func (e *evictable) found(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item, dirs evict.Usage) (evict.Found, error) {
	u := it.Usage()
	f := evict.Found{All: u, Account: u, Removable: u.Bytes > 0, Victim: evict.Victim{
		Number: it.N, Entry: it.Bin != nil, Size: u.Plus(dirs).Bytes,
	}}
	v := &f.Victim
	for i, name := range names {
		_, _ = hex.Decode(v.Names[i][:], []byte(name)) // 32 digits: IsDirName
	}
	if !v.Entry {
		v.Used = it.Src.Mtime
		// Else its .bin may be about to come.
		f.Removable = f.Removable && it.Src.Kind == safefs.Regular && e.s.at.NowNanos()-it.Src.Mtime > int64(orphanAge)
		return f, nil
	}
	v.Used, v.Ctime, v.Ino = it.Bin.Mtime, it.Bin.Ctime, it.Bin.Ino
	if e.m == nil && f.Removable { // else Remove looks
		f.Removable = !pinned(e.r, leafOf(v))
	}
	cost, other, err := e.s.costOf(leaf, it.N)
	switch {
	case rootdir.IgnoreGone(err) != nil:
		return f, err
	case err != nil: // it was removed meanwhile
		return evict.Found{Account: evict.Usage{}.Minus(dirs)}, nil
	case other:
		v.Other, f.Account = true, evict.Usage{}.Minus(dirs)
	}
	v.Cost = cost
	return f, nil
}

// leafOf returns the directories that a victim is in.
func leafOf(v *evict.Victim) (names rootdir.LeafNames) {
	for i := range names {
		names[i] = hex.EncodeToString(v.Names[i][:])
	}
	return names
}

func (e *evictable) Remove(ctx context.Context, v *evict.Victim, everything bool) (u evict.Usage, gone bool) {
	names := leafOf(v)
	leaf, err := e.r.Dir.OpenDir(names.Path())
	if err != nil {
		return u, false
	}
	defer leaf.Close()
	unlock, err := e.m.LockLeaf(ctx, names, 0)
	if err != nil {
		return u, false
	}
	defer unlock()
	if pins.Has(e.m, names) {
		return u, false
	}
	info, err := leaf.Lstat(rootdir.BinName(v.Number))
	bin := &info
	switch {
	case v.Entry && (err != nil || info.Mtime != v.Used):
		return u, false
	case !v.Entry && (!errors.Is(err, fs.ErrNotExist) || !everything && !rootdir.ReplaceableSrc(leaf, v.Number)):
		return u, false
	case !v.Entry:
		bin = nil
	case v.Ctime == info.Ctime && v.Ino == info.Ino && !v.Other:
		// What the walk has looked into is of this version, and so is its recipe; whose a
		// damaged one is cannot be told.
		everything = everything || v.Cost > 0
	case !everything:
		if _, other, err := e.s.costOf(leaf, v.Number); err != nil || other {
			return u, false
		}
	}
	if u, err = rootdir.RemoveEntry(leaf, v.Number, bin, everything); err != nil {
		return u, false
	}
	return u.Plus(rootdir.Directories(rootdir.Prune(e.r.Dir, names))), true
}

// costOf reads the start of an entry: what building it took, 0 for one that
// cannot hit, and whether it is of another version of kernstash. An error says
// that nobody knows: it is gone, or there is no descriptor left.
func (s *Store) costOf(leaf safefs.Dir, n uint32) (cost int64, other bool, err error) {
	h, err := s.at.Header(leaf, rootdir.BinName(n))
	switch {
	case err == nil:
		return int64(h.Cost), false, nil
	case errors.Is(err, format.ErrVersion), rootdir.Damaged(err):
		return 0, errors.Is(err, format.ErrVersion), nil
	}
	return 0, false, err
}
