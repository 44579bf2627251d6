package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// evictable is a root for who counts and trims it.
type evictable struct {
	s    *Store
	r    *root
	m    *meta                                                  // nil: nothing is removed
	skip func(leaf beneath.Dir, names leafNames, it *item) bool // what is as good as gone; may be nil
}

var _ evict.Root = (*evictable)(nil)

func (s *Store) newEvictor() *evict.Evictor {
	return evict.New(evict.Options{
		MaxSize: s.o.MaxSize, Policy: s.o.Policy, Bounds: s.o.hooks.bounds, Now: s.o.Now, Trace: s.o.Trace,
		Open: func() (evict.Root, *evict.Account, func(), error) {
			r, err := s.acquire(false)
			if err != nil {
				return nil, nil, nil, err
			}
			m, err := r.meta(s.o.hooks.noLocks)
			if err != nil {
				r.release()
				return nil, nil, nil, err
			}
			return &evictable{s: s, r: r, m: m}, m.account, r.release, nil
		},
		Evicted: func(v *evict.Victim, u usage) {
			if v.Entry {
				s.count(stats.DiskEvictions, 1)
				s.count(stats.DiskBytesEvicted, u.Bytes)
			}
		},
	})
}

func (e *evictable) Lock(n int) (unlock func(), err error) {
	unlock, err = e.m.locks.Lock(context.Background(), evictOffset(n), 0)
	if errors.Is(err, lock.ErrUnsupported) {
		return func() {}, nil
	}
	return unlock, err
}

func (e *evictable) Shared(ctx context.Context, f func(usage)) error { return eachShared(ctx, e.r, f) }

func (e *evictable) List(ctx context.Context, shards []int) (evict.Walk, int, error) {
	list, fit, err := (&walker{ctx: ctx}).images(e.r.dir, shards, bound(e.s.o.hooks.images, maxImages))
	return func(ctx context.Context, shard int, of evict.Slice, see func(evict.Found)) (bool, error) {
		complete, err := e.walk(ctx, list, shard, of, see)
		if err != nil {
			err = fmt.Errorf("count %s: %w", e.s.o.Dir, err)
		}
		return complete, err
	}, fit, err
}

func (e *evictable) walk(ctx context.Context, list *images, shard int, of evict.Slice, see func(evict.Found)) (complete bool, err error) {
	w := walker{ctx: ctx, wanted: func(names leafNames) bool { return of.Has(names) }}
	w.entered = func(names leafNames) {
		if of.Of == 0 || names[3] != "" { // else it is in all slices
			see(evict.Found{All: directories(1), Account: directories(1)})
		}
	}
	w.visit = func(leaf beneath.Dir, names leafNames, items []item) error {
		if e.s.o.hooks.counted != nil {
			e.s.o.hooks.counted(e.s)
		}
		for i := range items {
			if e.skip != nil && e.skip(leaf, names, &items[i]) {
				continue
			}
			f, err := e.found(leaf, names, &items[i], directories(w.freed(items)))
			if err != nil {
				return err
			}
			see(f)
		}
		return nil
	}
	return w.shard(e.r.dir, list, shard)
}

// orphanAge is how old a recipe without an entry, or a temporary file, must be
// to be counted as left behind by a writer that is gone.
const orphanAge = time.Hour

// found describes an item, whose last removal frees the directories.
func (e *evictable) found(leaf beneath.Dir, names leafNames, it *item, dirs usage) (evict.Found, error) {
	u := it.usage()
	f := evict.Found{All: u, Account: u, Removable: u.Bytes > 0, Victim: evict.Victim{
		Number: it.n, Entry: it.bin != nil, Size: u.Plus(dirs).Bytes,
	}}
	v := &f.Victim
	for i, name := range names {
		if n, err := hex.Decode(v.Names[i][:], []byte(name)); err != nil || n != len(v.Names[i]) {
			f.Removable = false
		}
	}
	if !v.Entry {
		v.Used = it.src.Mtime
		// Else its .bin may be about to come.
		f.Removable = f.Removable && it.src.Kind == beneath.Regular && e.s.nowNanos()-it.src.Mtime > int64(orphanAge)
		return f, nil
	}
	v.Used, v.Ctime, v.Ino = it.bin.Mtime, it.bin.Ctime, it.bin.Ino
	cost, other, err := e.s.look(leaf, it.n)
	switch {
	case ignoreGone(err) != nil:
		return f, err
	case err != nil: // it was removed meanwhile
		return evict.Found{Account: usage{}.Minus(dirs)}, nil
	case other:
		v.Other, f.Account = true, usage{}.Minus(dirs)
	}
	v.Cost = cost
	return f, nil
}

func (e *evictable) Remove(ctx context.Context, v *evict.Victim, everything bool) (u usage, gone bool) {
	var names leafNames
	for i := range names {
		names[i] = hex.EncodeToString(v.Names[i][:])
	}
	leaf, err := e.r.dir.OpenDir(names.path())
	if err != nil {
		return u, false
	}
	defer leaf.Close()
	unlock, err := e.s.lockLeaf(ctx, e.m, names, 0)
	if err != nil {
		return u, false
	}
	defer unlock()
	info, err := leaf.Lstat(binName(v.Number))
	bin := &info
	switch {
	case v.Entry && (err != nil || info.Mtime != v.Used):
		return u, false
	case !v.Entry && (!errors.Is(err, fs.ErrNotExist) || !everything && !replaceableSrc(leaf, v.Number)):
		return u, false
	case !v.Entry:
		bin = nil
	case v.Ctime == info.Ctime && v.Ino == info.Ino && !v.Other:
		// What the walk has looked into is of this version, and so is its recipe; whose a
		// damaged one is cannot be told.
		everything = everything || v.Cost > 0
	case !everything:
		if _, other, err := e.s.look(leaf, v.Number); err != nil || other {
			return u, false
		}
	}
	if u, err = removeEntry(leaf, v.Number, bin, everything); err != nil {
		return u, false
	}
	return u.Plus(directories(prune(e.r.dir, names))), true
}

// look reads the start of an entry: what building it took, 0 for one that
// cannot hit, and whether it is of another version of kernstash. An error says
// that nobody knows: it is gone, or there is no descriptor left.
func (s *Store) look(leaf beneath.Dir, n uint32) (cost int64, other bool, err error) {
	var fixed format.Fixed
	f, info, err := s.openBin(leaf, binName(n))
	if err == nil {
		defer f.Close()
		b := make([]byte, min(info.Size, format.FixedBytes))
		if err = readFull(f, b); err == nil {
			fixed, err = format.ParseFixed(b, info.Size)
		}
	}
	switch {
	case errors.Is(err, format.ErrVersion):
		return 0, true, nil
	case damaged(err):
		return 0, false, nil
	}
	return fixed.Cost, false, err
}

// bound returns a bound, or what a test has in its place.
func bound(hook, bound int) int {
	if hook > 0 {
		return hook
	}
	return bound
}
