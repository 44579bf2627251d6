package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/tally"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The account says how many bytes and entries there are, without a walk and
// without one lock for all writers: every addition goes to the slot of its shard
// (see internal/tally). It may drift: a writer is killed between its file and its
// addition, people delete files by hand. So shards are counted anew, see count.

// ledger reads the account.
func (m *meta) ledger(l *ledger) error {
	c := counters.Get().(*[accountSlots * accountCounters]int64)
	defer counters.Put(c)
	if _, err := m.account.Slots(c[:]); err != nil {
		return err
	}
	for i := range l {
		v := c[i*accountCounters:][:accountCounters]
		l[i] = slot{v[accountBytes], v[accountEntries], v[accountChurn], v[accountCounted]}
	}
	return nil
}

// total returns what the account says in all.
func (m *meta) total() (t total, err error) {
	err = m.account.Raw(func(b []byte, stride int) { t = sum(b, stride) })
	if err != nil || t.known {
		return t, err
	}
	l := ledgers.Get().(*ledger)
	defer ledgers.Put(l)
	if err := m.ledger(l); err != nil {
		return total{}, err
	}
	return l.total(), nil
}

// sum is the total of an account as it was read, if every shard is known: there is no
// time for more at every put.
func sum(b []byte, stride int) (t total) {
	if b == nil {
		return t
	}
	at := func(c []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(c[8*i:])) }
	t.counted = math.MaxInt64
	for i := range accountSlots {
		c := b[i*stride:][:8*accountCounters]
		s := slot{bytes: at(c, accountBytes), entries: at(c, accountEntries), counted: at(c, accountCounted)}
		if !s.known() {
			return total{}
		}
		t.bytes += s.bytes
		t.counted = min(t.counted, s.counted)
		if i != sharedSlot {
			t.entries += s.entries
		}
	}
	t.known = true
	return t
}

// What is read at every put gets no new room: it is 8 KiB each.
var (
	counters = sync.Pool{New: func() any { return new([accountSlots * accountCounters]int64) }}
	ledgers  = sync.Pool{New: func() any { return new(ledger) }}
)

// accountAdd adds to the account what was written to a slot's part of the root,
// or, with negative numbers, what was removed.
func (s *Store) accountAdd(m *meta, part int, u usage) {
	if u == (usage{}) {
		return
	}
	err := m.account.Change(part, func(c []int64) {
		c[accountBytes] += u.bytes
		c[accountEntries] += u.entries
		c[accountChurn] += max(u.bytes, -u.bytes)
	})
	if err != nil {
		s.o.Trace.Debug("account not updated", "reason", err)
	}
}

// accountBegin notes that a root without entries is counted, if nobody writes to
// it meanwhile. before is the account from before it was looked at.
func (m *meta) accountBegin(before *ledger, now int64) {
	if t := before.total(); t.known && t.entries == 0 && t.bytes == before[sharedSlot].bytes {
		return
	} else if t.bytes > before[sharedSlot].bytes {
		time.Sleep(inFlight) // who just removed the last entries has yet to say so
	}
	_ = m.account.ChangeAll(func(i int, c []int64) {
		if c[accountChurn] == before[i].churn && (i < shards || c[accountBytes] == 0) {
			c[accountBytes], c[accountEntries], c[accountCounted] = 0, 0, now
		}
	})
}

// accountRenew puts a new account in the place of what can never be one: a
// directory, an account of another version.
func (m *meta) accountRenew() error {
	err := m.ledger(new(ledger))
	if errors.Is(err, tally.ErrVersion) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EACCES) {
		return m.account.Renew()
	}
	return nil
}

// reserve decides whether something may be written. It never waits: while the
// total is above the limit, the evictor has not caught up and the put is
// dropped. So a total is never further above than by what was under way.
// It returns the total for settle.
func (s *Store) reserve(m *meta) (*total, error) {
	t, err := m.total()
	if err != nil {
		return nil, nil
	}
	if s.o.MaxSize > 0 && t.bytes > s.o.MaxSize {
		s.evict.full.Store(time.Now().Add(fullPause).UnixNano())
		s.wakeEvictor()
		return nil, fmt.Errorf("%d of %d bytes used: %w", t.bytes, s.o.MaxSize, store.ErrDropped)
	}
	return &t, nil
}

// fullPause is how long a process takes for granted that there is no room, unless
// it made room itself: asking costs more than being told no, and what is dropped
// may be put again and again.
const fullPause = 2 * time.Millisecond

// full says that there was no room a moment ago.
func (s *Store) full() error {
	if s.evict.full.Load() > time.Now().UnixNano() {
		return fmt.Errorf("the limit of %d bytes is passed: %w", s.o.MaxSize, store.ErrDropped)
	}
	return nil
}

// highWater is the total from which on the evictor runs: the limit, or, where
// there is much to look at before anything is freed, a sixteenth less, so that puts
// need not be dropped; and up to twice that, while it is less than what a busy
// machine writes until then.
func (s *Store) highWater(entries int64) int64 {
	if entries <= firstBatch {
		return s.o.MaxSize
	}
	return s.o.MaxSize - max(s.o.MaxSize/16, min(s.o.MaxSize/8, s.o.MaxSize/entries*writtenMeanwhile))
}

// nearLimit says whether what is put now may soon be in question: there may be an order.
func (s *Store) nearLimit(before *total) bool {
	return s.o.MaxSize > 0 && s.o.Policy == LRU && before != nil && before.entries >= int64(bound(s.o.hooks.order, leastOrder)) && before.bytes > s.o.MaxSize/2
}

// writtenMeanwhile is about how many entries are put until the evictor has freed
// something.
const writtenMeanwhile = 512

// recountAfter is how old, in seconds, the count of a shard becomes before it is
// counted again, so that what people delete by hand shows within days.
const recountAfter = 24 * 60 * 60

// stale says whether something is to be counted again. A count in the future was
// made by another clock.
func stale(counted, now int64) bool { return now-counted > recountAfter || counted-now > recountAfter }

// settle is called after a put of so many bytes: it wakes the evictor where there
// is work, or where nobody knows, since the account could not be read.
func (s *Store) settle(before *total, bytes int64) {
	limited := s.o.MaxSize > 0
	switch {
	case before == nil && limited,
		before != nil && (!before.known || stale(before.counted, s.nowNanos()/1e9)),
		before != nil && limited && before.bytes+bytes > s.highWater(before.entries):
		s.wakeEvictor()
	}
}

// countPut counts what Put did.
func (s *Store) countPut(res store.PutResult, written int64, dropped bool) {
	switch {
	case dropped:
		s.count(stats.DiskPutsDropped, 1)
	case res == store.Stored:
		s.count(stats.DiskPuts, 1)
		s.count(stats.DiskBytesWritten, written)
	case res == store.Bettered:
		s.count(stats.DiskPutsBettered, 1)
		s.count(stats.DiskBytesWritten, written)
	case res == store.Existing:
		s.count(stats.DiskPutsExisting, 1)
	default:
		s.count(stats.DiskPutFailures, 1)
	}
}
