package disk

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
)

// victim is what can be removed to make room. It is kept small: a root may
// hold a million.
type victim struct {
	names  [4][dirDigits / 2]byte
	n      uint32
	entry  bool // a .bin; else a recipe that is left over
	mtime  int64
	size   int64
	saving float64 // nanoseconds of build time, by the cost policy
}

func (v *victim) leaf() (l leafNames) {
	for i := range l {
		l[i] = hex.EncodeToString(v.names[i][:])
	}
	return l
}

// census is what a walk found.
type census struct {
	total   usage
	victims []victim
}

// census walks the root, and corrects the account by what it finds.
func (s *Store) census(ctx context.Context, r *root, m *meta, p Policy) (census, error) {
	var c census
	before, err := m.rawTotal()
	if err != nil {
		return c, err
	}
	w := walker{ctx: ctx, visit: func(leaf beneath.Dir, names leafNames, items []item) error {
		for i := range items {
			it := &items[i]
			u := it.usage()
			c.total.bytes += u.bytes
			c.total.entries += u.entries
			if v, ok := s.victim(leaf, names, it, p); ok {
				c.victims = append(c.victims, v)
			}
		}
		return nil
	}}
	if err := w.walk(r.dir); err != nil {
		return c, fmt.Errorf("count %s: %w", s.o.Dir, err)
	}
	s.correct(m, before, c.total)
	return c, nil
}

func (s *Store) victim(leaf beneath.Dir, names leafNames, it *item, p Policy) (victim, bool) {
	v := victim{n: it.n, entry: it.bin != nil, size: it.usage().bytes}
	for i, name := range names {
		if _, err := hex.Decode(v.names[i][:], []byte(name)); err != nil {
			return v, false
		}
	}
	switch {
	case v.entry:
		v.mtime = it.bin.Mtime
		if p == Cost {
			v.saving = s.costOf(leaf, it.n)
		}
	case it.src.Kind == beneath.Regular && s.o.Now().UnixNano()-it.src.Mtime > int64(orphanAge):
		v.mtime = it.src.Mtime
	default:
		return v, false // its .bin may be about to come
	}
	return v, v.size > 0
}

// orphanAge is how old a recipe without an entry, or a temporary file, must be
// to be counted as left behind by a writer that is gone.
const orphanAge = time.Hour

// costOf returns what building an entry took, 0 for one that cannot hit.
func (s *Store) costOf(leaf beneath.Dir, n uint32) float64 {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, min(info.Size, format.FixedBytes))
	if readFull(f, b) != nil {
		return 0
	}
	fixed, err := format.ParseFixed(b, info.Size)
	if err != nil {
		return 0
	}
	return float64(fixed.Cost)
}

// halfLife is the time without use after which an entry counts half as much.
const halfLife = 7 * 24 * time.Hour

// worth ranks a victim under the cost policy: the build time that a byte
// saves, aged.
func (v *victim) worth(now int64) float64 {
	age := float64(max(now-v.mtime, 0)) / float64(halfLife)
	return v.saving / float64(v.size) * math.Exp2(-age)
}

// inOrder sorts the victims, the first to go first.
func (c *census) inOrder(p Policy, now time.Time) []victim {
	byAge := func(a, b victim) int { return cmp.Compare(a.mtime, b.mtime) }
	if p != Cost {
		slices.SortFunc(c.victims, byAge)
		return c.victims
	}
	at := now.UnixNano()
	slices.SortFunc(c.victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.worth(at), b.worth(at)), byAge(a, b))
	})
	return c.victims
}

// removeVictim removes a victim under the lock of its leaf, after looking
// again: one that was used or replaced since stays, and so, unless everything
// goes, does one of another version.
func (s *Store) removeVictim(ctx context.Context, r *root, m *meta, v victim, everything bool) (size int64, ok bool) {
	names := v.leaf()
	leaf, err := r.dir.OpenDir(names.path())
	if err != nil {
		return 0, false
	}
	defer leaf.Close()
	unlock, err := s.lockLeaf(ctx, m, names, 0)
	if err != nil {
		return 0, false
	}
	defer unlock()
	u := sizeOf(leaf, v.n)
	info, err := leaf.Lstat(binName(v.n))
	switch {
	case v.entry && (err != nil || info.Mtime != v.mtime || !everything && s.otherVersion(leaf, v.n)):
		return 0, false
	case !v.entry && (err == nil || !everything && !replaceableSrc(leaf, v.n)):
		return 0, false
	}
	if err := s.removeEntry(m, leaf, v.n, everything); err != nil {
		return 0, false
	}
	prune(r.dir, names)
	return u.bytes, true
}

// otherVersion says whether an entry is of another version of kernstash.
func (s *Store) otherVersion(leaf beneath.Dir, n uint32) bool {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, min(info.Size, format.FixedBytes))
	if err := readFull(f, b); err != nil {
		return false
	}
	_, err = format.ParseFixed(b, info.Size)
	return errors.Is(err, format.ErrVersion)
}
