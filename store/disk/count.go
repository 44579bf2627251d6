package disk

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/tally"
)

// count is a count of one shard, by which the account is corrected.
type count struct {
	shard   int
	before  slot  // what the account said when it began
	seen    usage // what is there, and was not removed by who counts
	removed usage // by who counts, and not yet taken off the account

	complete bool // it came to its end; else only what was removed counts
}

func (c *count) saw(u usage) { c.seen = c.seen.plus(u) }

// took notes that something that was seen is removed.
func (c *count) took(u usage) {
	c.seen = c.seen.minus(u)
	c.removed = c.removed.plus(u)
}

// books is the account in the hands of who counts: the one process that holds the
// evictor's lock.
type books struct {
	s *Store
	m *meta
	l ledger // as it was read last

	marked ledger // as it was when images were listed

	// where the account cannot be read, what was counted is only known here
	unreadable error
}

func (s *Store) openBooks(m *meta) *books {
	b := new(books)
	b.open(s, m)
	return b
}

func (b *books) open(s *Store, m *meta) {
	b.s, b.m, b.unreadable = s, m, nil
	b.l = ledger{} // what cannot be read is not known
	b.read()
}

// lookBooks returns the books for who changes nothing.
func (s *Store) lookBooks(r *root) *books {
	m, err := r.lookMeta(s.o.hooks.noLocks)
	if err != nil {
		return &books{s: s, unreadable: err}
	}
	return s.openBooks(m)
}

// read reads the account again.
func (b *books) read() {
	if b.unreadable != nil {
		return
	}
	if err := b.m.ledger(&b.l); err != nil {
		b.unreadable = err
		b.s.o.Trace.Warn("account not read", "reason", err)
	}
}

// mark notes the account as it is before images are listed. What is put from then
// on may be missed by a count.
func (b *books) mark() {
	b.read()
	b.marked = b.l
}

// begin begins to count a shard, of which images were listed after mark.
func (b *books) begin(shard int) *count { return &count{shard: shard, before: b.marked[shard]} }

// compare returns how many bytes others added and took off since the count
// began, and how far the account is off.
func (c *count) compare(s *slot) (meanwhile, off int64) {
	return s.churn - c.before.churn, s.bytes - c.removed.bytes - c.seen.bytes
}

// explained says whether what others changed may be why the account is off.
func explained(meanwhile, off int64) bool { return meanwhile > 0 && max(off, -off) <= meanwhile }

// correct makes a slot say what the count found.
//
// What others change meanwhile may have been seen or not. So if they changed
// nothing the count holds; if they did, and that explains the whole difference,
// the account is as good as the count, and stays.
func (c *count) correct(s *slot, now int64) {
	meanwhile, off := c.compare(s)
	s.churn += c.removed.bytes
	s.bytes -= c.removed.bytes
	s.entries -= c.removed.entries
	if !c.complete {
		return
	}
	switch {
	case meanwhile == 0, off == 0:
		s.bytes, s.entries, s.counted = c.seen.bytes, c.seen.entries, now
	case explained(meanwhile, off):
		s.counted = now - recountAfter + recountUnsure
	default:
		s.bytes, s.entries, s.counted = c.seen.bytes, c.seen.entries, soon
	}
}

// recountUnsure is how many seconds later a shard is counted again whose account
// is explained, but not found to be right.
const recountUnsure = 60 * 60

// soon, as the time of a count, has the shard counted again soon: the account was
// wrong, and the count may err by what others did.
const soon = 1

// countShared counts what entries share, and corrects the account of it.
func (b *books) countShared(ctx context.Context, r *root) error {
	b.mark()
	c := b.begin(sharedSlot)
	err := eachShared(r, func(u usage) error {
		c.saw(u)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	c.complete = true
	b.end([]*count{c})
	return nil
}

// inFlight is how long a count that found something else than the account waits
// for those who changed a file and have yet to say so: then it sees that they
// did, and believes them.
const inFlight = 10 * time.Millisecond

// differs says whether a count found something else than the account says, and
// not what others have said that they changed.
func (b *books) differs(counts []*count) bool {
	b.read()
	return slices.ContainsFunc(counts, func(c *count) bool {
		s := b.l[c.shard]
		meanwhile, off := c.compare(&s)
		same := usage{s.bytes, s.entries}.minus(c.removed) == c.seen
		return c.complete && !same && !explained(meanwhile, off)
	})
}

// end puts counts into the account.
func (b *books) end(counts []*count) {
	if b.unreadable == nil && b.differs(counts) {
		time.Sleep(inFlight)
	}
	now := b.s.nowNanos() / 1e9
	if b.unreadable != nil {
		for _, c := range counts {
			c.correct(&b.l[c.shard], now)
		}
		return
	}
	of := make(map[int]*count, len(counts))
	for _, c := range counts {
		of[c.shard] = c
	}
	change := func(i int, v []int64) {
		if c := of[i]; c != nil {
			s := slot{v[accountBytes], v[accountEntries], v[accountChurn], v[accountCounted]}
			c.correct(&s, now)
			v[accountBytes], v[accountEntries], v[accountChurn], v[accountCounted] = s.bytes, s.entries, s.churn, s.counted
			delete(of, i)
		}
	}
	err := b.m.account.ChangeAll(change)
	if errors.Is(err, tally.ErrBusy) {
		for i := range of {
			err = b.m.account.Change(i, func(v []int64) { change(i, v) })
		}
	}
	if err != nil {
		b.s.o.Trace.Warn("account not corrected", "reason", err)
	}
	b.read()
}
