package disk

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/stats"
)

// perBatch is about how many entries are ranked together. Names are digests,
// so a batch is a fair sample: each gives its share of what has to go, the worst
// first, and the whole comes out as if all had been ranked at once, as near as
// docs/RATIONALE.md says. The first batch is a sixteenth of that, the next one
// twice as large, and so on: puts are dropped until something is freed. A root of
// fewer entries than the first is ranked exactly.
const (
	mostOfPart = 1.25 // a batch gives at most so much of the part of the whole

	perBatch   = 16 << 10
	firstBatch = perBatch / 16
)

// shrink counts shards and frees what has to go, one batch after another. It
// works under the evictor's lock.
type shrink struct {
	s     *Store
	r     *root
	b     *books
	ctx   context.Context
	count context.Context // of the walks; may end before, then what was seen is used

	above, down int64 // once there are more bytes than above: down to so many; above 0: only count
	extra       int64 // bytes that are not in the account, or in it and as good as gone
	everything  bool  // entries of other versions too
	dryRun      bool

	stale    func(s *slot) bool                                     // which shards are counted if nothing has to go
	skip     func(leaf beneath.Dir, names leafNames, it *item) bool // what is as good as gone; may be nil
	removed  func(u usage)                                          // may be nil
	progress func()                                                 // likewise

	rest *census // what is not to be freed yet; nil: it is not remembered
	seen int     // shards that were counted whole

	batches int
	part    float64 // of the whole, that had to go when freeing began
	freeing bool
	freed   int64
	kept    int64 // bytes in batches that are done
	others  int64
	partial bool // a walk did not come to its end
}

// run returns how many bytes are left, as far as is known.
func (h *shrink) run(root beneath.Dir) (left int64, err error) {
	if h.stale != nil && h.stale(&h.b.l[sharedSlot]) {
		if err := h.b.countShared(h.ctx, h.r); err != nil {
			return h.total(), err
		}
	}
	order := h.b.l.byAge()
	for len(order) > 0 && h.wanted(order[0]) {
		w := &walker{ctx: h.count}
		h.b.mark()
		list, fit, err := w.images(root, order, bound(h.s.o.hooks.images, maxImages))
		if err != nil {
			return h.total(), h.unlessHurried(err)
		}
		for at := 0; at < fit; {
			if !h.wanted(order[at]) {
				return h.total(), nil
			}
			n, again, err := h.batch(root, list, order[at:fit], len(order)-at)
			if err != nil || h.partial {
				return h.total(), err
			}
			if !again {
				at += n
			}
		}
		order = order[fit:]
	}
	return h.total(), nil
}

func (h *shrink) total() int64 { return h.b.l.total().bytes + h.extra }

// wanted says whether there is a reason to go on with a shard.
func (h *shrink) wanted(shard int) bool {
	if h.ctx.Err() != nil {
		return false
	}
	if h.above > 0 && h.total() > h.above || h.freeing && h.total() > h.down {
		return true
	}
	return !h.freeing && h.stale != nil && h.stale(&h.b.l[shard])
}

// batch counts the first shards, and frees their share. It returns how many
// those are, of left that are still to be counted, or that the same ones are to
// be looked at again.
func (h *shrink) batch(root beneath.Dir, list *images, order []int, left int) (n int, again bool, err error) {
	c := h.s.newCensus(h.everything, h.s.o.Now())
	var counts []*count
	h.b.read()
	over := h.above > 0 && h.total() > h.above || h.freeing
	most := int64(bound(h.s.o.hooks.batch, perBatch>>max(4-h.batches, 0)))
	h.batches++
	for n < len(order) && c.entries < most && (over || n == 0 || h.wanted(order[n])) && !h.partial {
		counted, err := h.countShard(c, root, list, order[n])
		if err != nil {
			return n, false, err
		}
		counts = append(counts, counted)
		n++
	}
	if !h.dryRun {
		h.b.end(counts)
	}
	h.others += c.others
	total := h.total()
	h.freeing = h.freeing || h.above > 0 && total > h.above
	freed, want := int64(0), int64(0)
	if h.freeing {
		want = h.share(c, total, n == left)
	}
	victims := c.inOrder()
	if want > 0 {
		freed, victims = h.free(victims, want)
	}
	if again = c.dropped && freed > 0 && freed < want && h.ctx.Err() == nil; !again {
		h.kept += c.bytes - freed
		for _, n := range counts {
			if n.complete {
				h.seen++
			}
		}
	}
	if h.rest != nil {
		for _, v := range victims {
			h.rest.note(v)
		}
		h.rest.dropped = h.rest.dropped || c.dropped
	}
	return n, again, nil
}

// share is how many bytes a batch has to give: as large a part as of all that
// was not looked at yet.
func (h *shrink) share(c *census, total int64, last bool) int64 {
	need := total - h.down
	first := h.part == 0
	if first {
		h.part = float64(need) / float64(max(total, 1))
	}
	if last && !h.partial && (first || h.everything) {
		return need
	}
	rest := max(total-h.kept, c.bytes, 1)
	part := float64(need) / float64(rest)
	if !h.everything {
		// What was put meanwhile is not for the last ones alone to make up for.
		part = min(part, h.part*mostOfPart)
	}
	share := int64(part * float64(c.bytes))
	if h.partial {
		share = max(share, total-h.above) // so that puts can go on
	}
	return share
}

// countShard walks a shard.
func (h *shrink) countShard(c *census, root beneath.Dir, list *images, shard int) (*count, error) {
	n := h.b.begin(shard)
	w := walker{ctx: h.count}
	w.entered = func(leafNames) {
		n.saw(directories(1))
		c.bytes += block
	}
	w.visit = func(leaf beneath.Dir, names leafNames, items []item) error {
		if h.s.o.hooks.counted != nil {
			h.s.o.hooks.counted(h.s)
		}
		for i := range items {
			it := &items[i]
			if h.skip != nil && h.skip(leaf, names, it) {
				continue
			}
			dirs := w.freed(items)
			counted, err := c.add(leaf, names, it, dirs)
			if err != nil {
				return err
			}
			if counted {
				n.saw(it.usage())
			} else {
				n.saw(usage{}.minus(directories(dirs)))
			}
		}
		if h.progress != nil {
			h.progress()
		}
		return nil
	}
	var err error
	n.complete, err = w.shard(root, list, shard)
	if err = h.unlessHurried(err); err != nil {
		return nil, fmt.Errorf("count %s: %w", h.s.o.Dir, err)
	}
	return n, nil
}

// unlessHurried takes the end of the walks' context for what it is: there is no
// time for more.
func (h *shrink) unlessHurried(err error) error {
	if err != nil && h.count.Err() != nil && h.ctx.Err() == nil {
		h.partial = true
		return nil
	}
	return err
}

// free evicts the first victims until so many bytes are freed, and returns the
// others. What was used or changed since the census stays, and so does what
// somebody writes beside.
func (h *shrink) free(victims []victim, bytes int64) (freed int64, rest []victim) {
	var d device
	defer d.close(h.r.dir)
	return h.freeIn(&d, victims, bytes)
}

// freeIn is free for who goes on below the same device.
func (h *shrink) freeIn(d *device, victims []victim, bytes int64) (freed int64, rest []victim) {
	for len(victims) > 0 && freed < bytes && h.ctx.Err() == nil {
		v := victims[0]
		victims = victims[1:]
		u := usage{bytes: v.size}
		if v.entry {
			u.entries = 1
		}
		if !h.dryRun {
			if !d.at(h.r.dir, hex.EncodeToString(v.names[0][:])) {
				continue
			}
			files, dirs, gone := h.s.removeVictim(h.ctx, d.dir, h.b.m, &v, h.everything)
			if !gone {
				continue
			}
			u = files.plus(directories(dirs))
			h.takeOff(&v, u)
		} else {
			h.extra -= u.bytes
		}
		freed += u.bytes
		h.tell(&v, u)
	}
	h.b.read()
	h.freed += freed
	return freed, victims
}

// takeOff takes what was removed off the account, which is not for entries of
// other versions.
func (h *shrink) takeOff(v *victim, u usage) {
	if v.other {
		h.extra -= u.bytes
		return
	}
	shard := int(v.names[1][0])
	h.s.accountAdd(h.b.m, shard, usage{}.minus(u))
	if h.b.unreadable != nil {
		h.b.l[shard].bytes -= u.bytes
		h.b.l[shard].entries -= u.entries
	}
}

func (h *shrink) tell(v *victim, u usage) {
	if v.entry && !h.everything {
		h.s.count(stats.DiskEvictions, 1)
		h.s.count(stats.DiskBytesEvicted, u.bytes)
	}
	if h.removed != nil {
		h.removed(u)
	}
	if h.progress != nil {
		h.progress()
	}
}

// bound returns a bound, or what a test has in its place.
func bound(hook, bound int) int {
	if hook > 0 {
		return hook
	}
	return bound
}
