package evict

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/tally"
)

// recountAfter is how old, in seconds, the count of a shard becomes before it is
// counted again, so that what people delete by hand shows within days.
const recountAfter = 24 * 60 * 60

// recountUnsure is how many seconds later a shard is counted again whose account
// is explained, but not found to be right.
const recountUnsure = 60 * 60

// soon, as the time of a count, has the shard counted again soon: the account was
// wrong, and the count may err by what others did.
const soon = 1

// stale reports whether something is to be counted again. A count in the future was
// made by another clock.
func stale(counted, now int64) bool { return now-counted > recountAfter || counted-now > recountAfter }

// Count is a count of one shard, by which the account is corrected.
type Count struct {
	Complete bool // it came to its end; else only what was removed counts

	shard   int
	found   int   // how often it saw something
	before  slot  // what the account said when it began
	seen    Usage // what is there, and was not removed by who counts
	removed Usage // by who counts, and not yet taken off the account
}

// Saw notes what is there.
func (c *Count) Saw(u Usage) {
	c.seen = c.seen.Plus(u)
	c.found++
}

// Took notes that something that was seen is removed.
func (c *Count) Took(u Usage) {
	c.seen = c.seen.Minus(u)
	c.removed = c.removed.Plus(u)
}

// compare returns how many bytes others added and took off since the count
// began, and how far the account is off.
func (c *Count) compare(s *slot) (meanwhile, off int64) {
	return s.churn - c.before.churn, s.bytes - c.removed.Bytes - c.seen.Bytes
}

// explained reports whether what others changed may be why the account is off.
func explained(meanwhile, off int64) bool { return meanwhile > 0 && max(off, -off) <= meanwhile }

// correct makes a slot say what the count found. What others change meanwhile may have been
// seen or not. So if they changed nothing the count holds; if they did, and that explains the
// whole difference, the account is as good as the count, and stays.
func (c *Count) correct(s *slot, now int64) {
	meanwhile, off := c.compare(s)
	s.churn += c.removed.Bytes
	s.bytes -= c.removed.Bytes
	s.entries -= c.removed.Entries
	switch {
	case !c.Complete:
	case meanwhile == 0, off == 0:
		s.bytes, s.entries, s.counted = c.seen.Bytes, c.seen.Entries, now
	case explained(meanwhile, off):
		s.counted = now - recountAfter + recountUnsure
	default:
		s.bytes, s.entries, s.counted = c.seen.Bytes, c.seen.Entries, soon
	}
}

// Books is the account in the hands of who counts. Several may count one shard at
// a time, since what they remove is in the account at once; but not beside a sweep.
type Books struct {
	account *Account // nil: it cannot be read, and what was counted is only known here
	now     func() time.Time
	trace   *slog.Logger
	frozen  bool   // counts correct nothing, there or here
	l       Ledger // as it was read last
}

// OpenBooks opens the books of an account; nil: there is none. If they are frozen, counts
// correct nothing.
func OpenBooks(a *Account, frozen bool, now func() time.Time, trace *slog.Logger) *Books {
	b := &Books{account: a, now: now, trace: trace, frozen: frozen}
	b.read()
	return b
}

func (b *Books) read() {
	if b.account == nil {
		return
	}
	if err := b.account.Read(&b.l); err != nil {
		b.account = nil
		b.trace.Warn("account not read", "reason", err)
	}
}

func (b *Books) Shared() int64 { return max(b.l[Shared].bytes, 0) } // bytes of what entries share
func (b *Books) Total() int64  { return b.l.total().Bytes }         // bytes of all
func (b *Books) Order() []int  { return b.l.byAge() }               // shards, in the order in which to count them

// together is how many files and directories are seen before the account is corrected:
// those of some 4,000 entries.
const together = 1 << 14

// Each counts shards, and corrects the account by that. list lists their images; count
// counts one of them. What was counted before an error is put into the account, too.
func (b *Books) Each(shards []int, bounds Bounds, list func() error, count func(shard int, c *Count) error) error {
	b.read()
	marked := b.l // what is put from now on may be missed by the count
	err := list()
	for err == nil && len(shards) > 0 {
		var counts []*Count
		for found := 0; err == nil && len(shards) > 0 && found < cmp.Or(bounds.Together, together); shards = shards[1:] {
			c := &Count{shard: shards[0], before: marked[shards[0]]}
			err = count(shards[0], c)
			found += c.found
			counts = append(counts, c)
		}
		b.end(counts)
	}
	return err
}

// CountShared counts what entries share, which walk calls f with.
func (b *Books) CountShared(walk func(f func(Usage)) error) error {
	return b.Each([]int{Shared}, Bounds{}, func() error { return nil }, func(_ int, c *Count) error {
		err := walk(c.Saw)
		c.Complete = err == nil
		return err
	})
}

// take takes what was removed off the account.
func (b *Books) take(shard int, u Usage) {
	u = Usage{}.Minus(u)
	if b.account == nil {
		b.l[shard].add(u)
	} else if err := b.account.Add(shard, u); err != nil {
		b.trace.Debug("account not updated", "reason", err)
	}
}

// inFlight is how long a count that found something else than the account waits for those
// who changed a file and have yet to say so: then it sees that they did, and believes them.
const inFlight = 10 * time.Millisecond

// differs reports whether a count found something else than the account says, and
// not what others have said that they changed.
func (b *Books) differs(counts []*Count) bool {
	b.read()
	return slices.ContainsFunc(counts, func(c *Count) bool {
		s := b.l[c.shard]
		meanwhile, off := c.compare(&s)
		same := Usage{s.bytes, s.entries}.Minus(c.removed) == c.seen
		return c.Complete && !same && !explained(meanwhile, off)
	})
}

// end puts counts into the account.
func (b *Books) end(counts []*Count) {
	if len(counts) == 0 || b.frozen {
		return
	}
	if b.account != nil && b.differs(counts) {
		time.Sleep(inFlight)
	}
	now := b.now().Unix()
	if b.account == nil {
		for _, c := range counts {
			c.correct(&b.l[c.shard], now)
		}
		return
	}
	change := func(i int, v []int64) {
		if at := slices.IndexFunc(counts, func(c *Count) bool { return c.shard == i }); at >= 0 {
			s := slotOf(v)
			counts[at].correct(&s, now)
			s.put(v)
		}
	}
	err := b.account.file.ChangeAll(change)
	if errors.Is(err, tally.ErrBusy) {
		for _, c := range counts {
			err = b.account.file.Change(c.shard, func(v []int64) { change(c.shard, v) })
		}
	}
	if err != nil {
		b.trace.Warn("account not corrected", "reason", err)
	}
	b.read()
}
