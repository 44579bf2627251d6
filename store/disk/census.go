package disk

import (
	"cmp"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
)

// census is what a walk of some shards found: how much there is, and what can be
// removed first to make room.
type census struct {
	s          *Store
	everything bool // other versions too
	most       int  // how many victims are kept

	bytes   int64 // of what the limit is for
	entries int64
	others  int64 // bytes of entries of other versions, unless they are counted
	victims []victim
	dropped bool // there were more victims than are kept
	now     int64
}

// Keeping so many victims, the census takes a few megabytes however large a
// shard is.
const maxVictims = 1 << 16

// add counts an item, and notes it if it can be removed to make room. What is
// of another version of kernstash can not, so the limit is not for it; unless
// everything is counted. counted says that the account is for it.
func (c *census) add(leaf beneath.Dir, names leafNames, it *item, dirs int) (counted bool, err error) {
	v, ok := c.s.victim(names, it, dirs)
	counted = true
	if v.entry {
		cost, other, err := c.s.look(leaf, it.n)
		switch {
		case ignoreGone(err) != nil && !c.everything:
			return false, err
		case err != nil && !c.everything:
			return false, nil // it was removed meanwhile
		case other:
			v.other, counted = true, false
			c.others += v.size
			ok = ok && c.everything
		}
		if c.s.o.Policy == Cost {
			v.saving = float64(cost)
		}
	}
	if u := it.usage(); counted || c.everything {
		c.bytes += u.bytes
		c.entries += u.entries
	} else {
		c.bytes -= directories(dirs).bytes
	}
	if ok {
		c.note(v)
	}
	return counted, nil
}

// note keeps a victim, if it is among the first to go.
func (c *census) note(v victim) {
	c.victims = append(c.victims, v)
	if len(c.victims) < 2*c.most {
		return
	}
	c.sort()
	c.victims, c.dropped = c.victims[:c.most], true
}

// inOrder returns the victims, the first to go first.
func (c *census) inOrder() []victim {
	c.sort()
	return c.victims
}

func (c *census) sort() {
	lru := c.s.o.Policy != Cost
	slices.SortFunc(c.victims, func(a, b victim) int {
		age := cmp.Compare(a.used(c.now), b.used(c.now))
		if lru {
			return age
		}
		return cmp.Or(cmp.Compare(a.worth(c.now), b.worth(c.now)), age)
	})
}

// newCensus returns an empty one.
func (s *Store) newCensus(everything bool, now time.Time) *census {
	return &census{s: s, everything: everything, most: bound(s.o.hooks.victims, maxVictims), now: now.UnixNano()}
}
