package evict

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kernstash/kernstash/internal/lock"
)

// Root is a root as who counts and trims sees it.
type Root interface {
	// Lock takes one of the Locks, or returns lock.ErrBusy. Where there are no
	// locks it returns one that does nothing.
	Lock(n int) (unlock func(), err error)

	// List lists the images of shards: of as many of the first ones as is
	// reasonable to hold, and at least one.
	List(ctx context.Context, shards []int) (walk Walk, fit int, err error)

	// Shared calls f with what each file takes that entries share.
	Shared(ctx context.Context, f func(Usage)) error

	// Remove removes a victim, after looking again: one that was used or replaced
	// since stays, and so, unless everything goes, does one of another version.
	Remove(ctx context.Context, v *Victim, everything bool) (u Usage, gone bool)
}

// Walk calls see for everything in a shard that was listed. It is complete if
// nothing was missed.
type Walk func(ctx context.Context, shard int, see func(Found)) (complete bool, err error)

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
}

// Defaults of the Bounds, and how many groups there are at most: for each of them
// the images are listed.
const exactBelow, groupOf, maxVictims, maxGroups = 1024, 256, 1 << 16, 64

// Trim frees what a root has too much. Its shards are trimmed group by group:
// names are digests, so a group is a fair sample, and each gives its share of what
// has to go, the worst first.
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
	others  int64 // bytes of other versions
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

// pass trims groups until there is enough room, the largest first.
func (t *Trim) pass(ctx context.Context) error {
	groups := t.groups()
	left := t.total() - t.Books.Shared()
	for i, shards := range groups {
		if t.enough(ctx) {
			return nil
		}
		if t.Everything {
			seen, err := t.group(ctx, shards, left, i == len(groups)-1)
			if err != nil {
				return err
			}
			left -= seen
			continue
		}
		unlock, err := t.Root.Lock(shards[0] * Locks / Shards)
		if errors.Is(err, lock.ErrBusy) {
			t.busy = true
			continue
		} else if err != nil {
			return err
		}
		if !t.enough(ctx) { // by who had the lock
			_, err = t.group(ctx, shards, t.total()-t.Books.Shared(), len(groups) == 1)
		}
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// groups returns the shards in groups that are ranked together, those first that
// take the most.
func (t *Trim) groups() [][]int {
	entries, n := t.Books.l.total().Entries, 1
	exact, group := cmp.Or(t.Bounds.Exact, exactBelow), cmp.Or(t.Bounds.Group, groupOf)
	for entries >= exact && n < maxGroups && int64(2*n)*group <= entries {
		n *= 2
	}
	groups, bytes := make([][]int, n), make([]int64, n)
	for shard := range Shards {
		g := shard * n / Shards
		groups[g] = append(groups[g], shard)
		bytes[g] += max(t.Books.l[shard].bytes, 0)
	}
	slices.SortStableFunc(groups, func(a, b []int) int {
		return cmp.Compare(bytes[b[0]*n/Shards], bytes[a[0]*n/Shards])
	})
	return groups
}

// group counts a group of shards, of left bytes that were not looked at, and frees
// its share; all of what has to go, if it is the last. It returns how much is there.
func (t *Trim) group(ctx context.Context, shards []int, left int64, last bool) (seen int64, err error) {
	r, err := t.look(ctx, shards, cmp.Or(t.Bounds.Victims, maxVictims))
	if err != nil {
		return 0, err
	}
	need := t.total() - t.Down
	share := need
	if !last || t.partial {
		share = int64(float64(need) * min(1, float64(r.bytes)/float64(max(left, 1))))
	}
	if t.partial {
		share = max(share, t.total()-t.Above) // so that puts can go on
	}
	t.free(ctx, r.inOrder(), share)
	return r.bytes, nil
}

// recount counts the shards that were not counted for long.
func (t *Trim) recount(ctx context.Context) error {
	now := t.Books.now().Unix()
	old := func(shard int) bool { s := &t.Books.l[shard]; return !s.known() || stale(s.counted, now) }
	if old(Shared) {
		err := t.Books.CountShared(func(f func(Usage)) error { return t.Root.Shared(ctx, f) })
		if err != nil {
			return err
		}
	}
	shards := slices.DeleteFunc(t.Books.Order(), func(shard int) bool { return !old(shard) })
	_, err := t.look(ctx, shards, 0)
	return err
}

// together is how many entries are counted before the account is corrected.
const together = 4096

// look counts shards, corrects the account by that, and ranks what can be removed.
func (t *Trim) look(ctx context.Context, shards []int, most int) (*ranking, error) {
	r := &ranking{before: t.Policy.before(t.Books.now().UnixNano()), most: most}
	var counts []*Count
	end := func() {
		if !t.DryRun {
			t.Books.End(counts)
		}
		counts = counts[:0]
	}
	for len(shards) > 0 && !t.partial {
		t.Books.Mark()
		walk, fit, err := t.Root.List(t.hurry, shards)
		if err != nil {
			return r, t.unlessHurried(ctx, err)
		}
		for at, entries := 0, int64(0); at < fit && !t.partial; at++ {
			c := t.Books.Begin(shards[at])
			c.Complete, err = walk(t.hurry, shards[at], func(f Found) {
				c.Saw(f.Account)
				t.found(r, &f)
				entries += f.All.Entries
			})
			if err := t.unlessHurried(ctx, err); err != nil {
				return r, err
			}
			if counts = append(counts, c); entries >= together {
				end()
				entries = 0
			}
		}
		end()
		shards = shards[fit:]
	}
	return r, nil
}

func (t *Trim) found(r *ranking, f *Found) {
	u := f.Account
	if t.Everything {
		u = f.All
	}
	r.bytes += u.Bytes
	if f.Victim.Other {
		t.others += f.Victim.Size
	}
	if f.Removable && (t.Everything || !f.Victim.Other) {
		r.note(f.Victim)
	}
}

// unlessHurried takes the end of the walks' context for what it is: there is no
// time for more.
func (t *Trim) unlessHurried(ctx context.Context, err error) error {
	if err != nil && t.hurry.Err() != nil && ctx.Err() == nil {
		t.partial = true
		return nil
	}
	return err
}

// free removes the first victims until so many bytes are freed.
func (t *Trim) free(ctx context.Context, victims []Victim, bytes int64) {
	for i := range victims {
		if bytes <= 0 || ctx.Err() != nil {
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

// ranking is what is found in some shards.
type ranking struct {
	before  func(a, b *Victim) int
	most    int   // how many victims are kept
	bytes   int64 // of what the limit is for
	victims []Victim
}

// note keeps a victim, if it is among the first to go.
func (r *ranking) note(v Victim) {
	if r.most == 0 {
		return
	}
	if r.victims = append(r.victims, v); len(r.victims) >= 2*r.most {
		r.victims = r.inOrder()[:r.most]
	}
}

// inOrder returns the victims, the first to go first.
func (r *ranking) inOrder() []Victim {
	slices.SortFunc(r.victims, func(a, b Victim) int { return r.before(&a, &b) })
	return r.victims
}
