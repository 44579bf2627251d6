package evict

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/lock"
)

// Root is a root as who counts and trims sees it.
type Root interface {
	// Lock takes one of the Locks, or returns lock.ErrBusy. Where there are no
	// locks it returns one that does nothing.
	Lock(n int) (unlock func(), err error)

	// List lists the images of shards.
	List(ctx context.Context, shards []int) (Walk, error)

	// Shared calls f with what each file takes that entries share.
	Shared(ctx context.Context, f func(Usage)) error

	// Remove removes a victim, after looking again: one that was used or replaced
	// since stays, and so, unless everything goes, does one of another version.
	Remove(ctx context.Context, v *Victim, everything bool) (u Usage, gone bool)
}

// Walk calls see for everything in a slice of a shard that was listed. It is complete
// if nothing was missed.
type Walk func(ctx context.Context, shard int, of Slice, see func(Found)) (complete bool, err error)

// Slice is part Index of Of parts of a shard; zero is all of it.
type Slice struct{ Index, Of int }

// Has reports whether a leaf directory is in the slice. Entries of one image are in all
// slices alike.
func (s Slice) Has(names [4]string) bool {
	return s.Of == 0 || (ShardOf(names[1])^ShardOf(names[2])^ShardOf(names[3]))*s.Of/Shards == s.Index
}

// Found is a directory or an item that a walk found.
type Found struct {
	All       Usage // what it takes
	Account   Usage // what of that is in the account
	Removable bool
	Victim    Victim // what can be removed, or is of another version
}

// Locks is how many locks there are for trims, and so how many are under way at
// once: each is for as many shards. Recount is the lock of who counts what was not
// counted for long. A sweep holds all of these.
const (
	Locks   = 8
	Recount = Locks
)

// Bounds are the bounds of trims. Zero is the default.
type Bounds struct {
	Exact   int64 // a root of fewer entries is ranked as a whole
	Group   int64 // about how many entries of a larger one are ranked together
	Victims int   // how many are remembered of a group

	Together int // after so many files and directories the account is corrected
}

// Defaults of the Bounds, and how many groups there are at most: for each of them
// the images are listed. A sweep holds the locks anyway, so its groups are larger.
const exactBelow, groupOf, groupOfSweep, maxVictims, maxGroups = 1024, 256, 8192, 1 << 16, 64

// Trim frees what a root has too much. It is trimmed group by group: each is a fair
// sample of it, and gives its share of what has to go, the worst first.
type Trim struct {
	Root        Root
	Books       *Books
	Policy      Policy
	Bounds      Bounds
	Above, Down int64 // once there are more bytes than Above: groups are trimmed to their share of Down

	Everything bool  // for a sweep, which holds the locks: other versions too, and all groups until there is no more than Above
	DryRun     bool  // nothing is removed
	Extra      int64 // bytes that are not in the account, or in it and as good as gone

	Freed func(v *Victim, u Usage) // is called for each that is removed

	hurry   context.Context // of walks; may end before, then what was seen is used
	partial bool            // it did
	busy    bool            // somebody else trims a group
	freed   int64
	others  *[Shards]atomic.Int64 // bytes of other versions in each shard that was counted; may be nil
}

// Run trims until there is no more than Above, or nothing can be freed.
func (t *Trim) Run(ctx context.Context) error {
	if t.hurry == nil {
		t.hurry = ctx
	}
	for {
		before := t.freed
		if err := t.pass(ctx); err != nil {
			return err
		}
		if t.freed == before || t.DryRun || t.enough(ctx) {
			return nil
		}
	}
}

func (t *Trim) total() int64 { return t.Books.Total() + t.Extra }

func (t *Trim) enough(ctx context.Context) bool {
	t.Books.read()
	return t.partial || ctx.Err() != nil || t.total() <= t.Above
}

// pass trims groups, one after the other, until there is enough room.
func (t *Trim) pass(ctx context.Context) error {
	groups := t.groups()
	left := t.total() - t.Books.Shared() // of a sweep: in groups that were not looked at
	for i, g := range groups {
		if t.enough(ctx) {
			return nil
		}
		unlock, err := func() {}, error(nil)
		if !t.Everything {
			left = t.total() - t.Books.Shared()
			unlock, err = t.Root.Lock(g.lock())
		}
		if errors.Is(err, lock.ErrBusy) {
			t.busy = true
			continue
		} else if err != nil {
			return err
		}
		seen, err := t.trim(ctx, g, left, len(groups) == 1 || t.Everything && i == len(groups)-1)
		left -= seen
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// group is what is ranked together: some shards, and a slice of each that is large.
type group struct {
	slice        Slice
	whole, large []int
	counted      int64 // when the last one of these was that is no large one
}

// lock is which lock a group has: that of its first shard.
func (g *group) lock() int { return g.slice.Index * Locks / g.slice.Of }

// groups divides the root, and returns those groups first that were not counted, and so
// not trimmed, for longest. Names are digests, so some shards are a fair sample of all,
// but for those that hold an image with many options or constants: of these, each
// group has a slice.
func (t *Trim) groups() []group {
	entries, n := t.Books.l.total().Entries, 1
	exact, each := cmp.Or(t.Bounds.Exact, exactBelow), cmp.Or(t.Bounds.Group, groupOf)
	if t.Everything {
		each = cmp.Or(t.Bounds.Group, groupOfSweep)
	}
	for entries >= exact && n < maxGroups && int64(2*n)*each <= entries {
		n *= 2
	}
	groups := make([]group, n)
	for i := range groups {
		groups[i].slice = Slice{i, n}
	}
	for shard := range Shards {
		if s, g := &t.Books.l[shard], &groups[shard*n/Shards]; n == 1 || s.entries <= 2*entries/Shards+8 {
			g.whole, g.counted = append(g.whole, shard), max(g.counted, s.counted)
			continue
		}
		for i := range groups {
			groups[i].large = append(groups[i].large, shard)
		}
	}
	rand.Shuffle(n, func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.counted, b.counted) })
	return groups
}

// trim counts a group, of left bytes that were not looked at, and frees its share; all
// of what has to go, if it is the last. It returns how much is there.
func (t *Trim) trim(ctx context.Context, g group, left int64, last bool) (seen int64, err error) {
	victims, seen, err := t.look(ctx, g, cmp.Or(t.Bounds.Victims, maxVictims))
	t.Books.read()
	if err != nil || t.total() <= t.Above { // by the count, or since others trim
		return seen, err
	}
	share := t.total() - t.Down
	if !last || t.partial {
		share = int64(float64(share) * min(1, float64(seen)/float64(max(left, 1))))
	}
	if t.partial {
		share = max(share, t.total()-t.Above) // so that puts can go on
	}
	t.free(ctx, victims, share)
	return seen, nil
}

// recount counts the shards that were not counted for long.
func (t *Trim) recount(ctx context.Context) error {
	unlock, err := t.Root.Lock(Recount)
	if err != nil {
		return err
	}
	defer unlock()
	t.Books.read() // others may have counted them by now
	now := t.Books.now().Unix()
	old := func(shard int) bool { s := &t.Books.l[shard]; return !s.known() || stale(s.counted, now) }
	if old(Shared) {
		err := t.Books.CountShared(func(f func(Usage)) error { return t.Root.Shared(ctx, f) })
		if err != nil {
			return err
		}
	}
	_, _, err = t.look(ctx, group{whole: slices.DeleteFunc(t.Books.Order(), func(shard int) bool { return !old(shard) })}, 0)
	return err
}

// look counts a group, and corrects the account by that. It returns the most of what can
// be removed that are the first to go, in order, and how many bytes are there.
func (t *Trim) look(ctx context.Context, g group, most int) (victims []Victim, bytes int64, err error) {
	if t.partial {
		return nil, 0, nil
	}
	now := t.Books.now().UnixNano()
	var walk Walk
	shards := slices.Concat(g.whole, g.large)
	err = t.Books.Each(shards, t.Bounds, func() (err error) {
		walk, err = t.Root.List(t.hurry, shards)
		return err
	}, func(shard int, c *Count) error {
		var of Slice
		if slices.Contains(g.large, shard) {
			of = g.slice
		}
		var others int64
		complete, err := walk(t.hurry, shard, of, func(f Found) {
			c.Saw(f.Account)
			bytes += f.Account.Bytes
			if t.Everything {
				bytes += f.All.Bytes - f.Account.Bytes
			}
			if f.Victim.Other {
				others += f.Victim.Size
			}
			if most == 0 || !f.Removable || f.Victim.Other && !t.Everything {
				return
			}
			if victims = append(victims, f.Victim); len(victims) >= 2*most {
				t.Policy.sort(victims, now)
				victims = victims[:most]
			}
		})
		c.Complete = complete && of.Of == 0
		if c.Complete && t.others != nil {
			t.others[shard].Store(others)
		}
		return err
	})
	if err != nil && t.hurry.Err() != nil && ctx.Err() == nil { // there is no time for more
		t.partial, err = true, nil
	}
	t.Policy.sort(victims, now)
	return victims, bytes, err
}

// free removes the first victims until so many bytes are freed, or, since others
// may trim the same, no more than Down are left.
func (t *Trim) free(ctx context.Context, victims []Victim, bytes int64) {
	for i := range victims {
		if i%16 == 0 {
			t.Books.read()
		}
		if bytes <= 0 || ctx.Err() != nil || t.total() <= t.Down {
			break
		}
		v := &victims[i]
		u, gone := Usage{Bytes: v.Size}, true
		if v.Entry {
			u.Entries = 1
		}
		if !t.DryRun {
			u, gone = t.Root.Remove(ctx, v, t.Everything)
		}
		if !gone {
			continue
		}
		if t.DryRun || v.Other {
			t.Extra -= u.Bytes
		} else {
			t.Books.take(int(v.Names[1][0]), u)
		}
		bytes -= u.Bytes
		t.freed += u.Bytes
		t.Freed(v, u)
	}
}
