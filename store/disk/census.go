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
)

// victim is what can be removed to make room. It is kept small: a root may
// hold a million.
type victim struct {
	names  [4][dirDigits / 2]byte
	n      uint32
	entry  bool // a .bin; else a recipe that is left over
	other  bool // of another version, where gc looked
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
	total     usage
	others    int64 // bytes of entries of other versions, not in total
	victims   []victim
	partial   bool // it is not all
	corrected bool // the account was
}

// census walks the root, and corrects the account by what it finds. If ctx
// ends meanwhile, what was found by then counts, a random part, but says
// nothing about the account.
func (s *Store) census(ctx context.Context, r *root, m *meta, p Policy) (census, error) {
	var c census
	before := s.startCount(m, false)
	w := walker{ctx: ctx, shuffled: true, visit: func(leaf beneath.Dir, names leafNames, items []item) error {
		if s.o.hooks.counted != nil {
			s.o.hooks.counted(s)
		}
		for i := range items {
			if err := c.add(s, leaf, names, &items[i], p); err != nil {
				return err
			}
		}
		return nil
	}}
	err := w.walk(r.dir)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return c, fmt.Errorf("count %s: %w", s.o.Dir, err)
	}
	c.partial = err != nil || w.partial
	if !c.partial && before != nil {
		s.correct(m, *before, c.total)
		c.corrected = true
	}
	return c, nil
}

// add counts an item, and notes it if it can be removed to make room. What is
// of another version of kernstash can not, so the limit is not for it.
func (c *census) add(s *Store, leaf beneath.Dir, names leafNames, it *item, p Policy) error {
	v, ok := s.victim(names, it)
	if v.entry {
		cost, other, err := s.look(leaf, it.n)
		switch {
		case ignoreGone(err) != nil:
			return err
		case err != nil:
			return nil // it was removed meanwhile
		case other:
			c.others += v.size
			return nil
		}
		if p == Cost {
			v.saving = float64(cost)
		}
	}
	u := it.usage()
	c.total.bytes += u.bytes
	c.total.entries += u.entries
	if ok {
		c.victims = append(c.victims, v)
	}
	return nil
}

// victim describes an item. ok says that it may be removed.
func (s *Store) victim(names leafNames, it *item) (v victim, ok bool) {
	v = victim{n: it.n, entry: it.bin != nil, size: it.usage().bytes}
	for i, name := range names {
		if _, err := hex.Decode(v.names[i][:], []byte(name)); err != nil {
			return v, false
		}
	}
	switch {
	case v.entry:
		v.mtime = it.bin.Mtime
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
