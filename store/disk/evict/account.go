package evict

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/tally"
)

// Shards is into how many parts the account divides a root: by the first two
// digits of the image directory's name, which are those of a digest. So a part
// can be counted without the rest, and all are about equally large. Shared is the
// slot of what entries share: headers, manifests and jobs.
const (
	Shards = 256
	Shared = Shards
	slots  = Shards + 1
)

// ShardOf returns the shard of an image directory.
func ShardOf(image string) int {
	n, _ := strconv.ParseUint(image[:2], 16, 8) // they are digits
	return int(n)
}

// slot is what the account says of a shard.
type slot struct {
	bytes, entries int64
	churn          int64 // bytes that were ever added and taken off: it shows changes
	counted        int64 // when the shard was last counted, in seconds since 1970; 0: never
}

const counters = 4

// known reports whether the shard was counted, and has not drifted so far since
// that it cannot be right.
func (s *slot) known() bool { return s.counted > 0 && s.bytes >= 0 && s.entries >= 0 }

// Ledger is what the account says.
type Ledger [slots]slot

// Mark is what the account says of a shard, for a caller that asks later what was added since.
type Mark struct{ Bytes, Churn, Counted int64 }

// Mark returns the mark of a shard.
func (l *Ledger) Mark(shard int) Mark {
	s := &l[shard]
	return Mark{s.bytes, s.churn, s.counted}
}

// Added returns how many bytes were added since before: exactly so many, or at most, if the shard was counted
// meanwhile, which may have corrected its bytes.
func (m Mark) Added(before Mark) int64 {
	churn := m.Churn - before.Churn
	switch {
	case churn < 0: // it is another account
		return math.MaxInt64
	case m.Counted != before.Counted:
		return max(churn, m.Bytes-before.Bytes)
	}
	return (churn + m.Bytes - before.Bytes) / 2
}

// Account is the account of a root. Nothing is opened before it is needed.
type Account struct{ file *tally.File }

// NewAccount returns the account at a place.
func NewAccount(p tally.Place) *Account { return &Account{tally.NewFixed(p, slots, counters)} }

// Close ends the descriptor. A later call opens it again.
func (a *Account) Close() { a.file.Close() }

// Read reads the account.
func (a *Account) Read(l *Ledger) error {
	*l = Ledger{}
	return a.file.Each(func(i int, c []int64) { l[i] = slotOf(c) })
}

func slotOf(c []int64) slot { return slot{c[0], c[1], c[2], c[3]} }

// Total returns what the account says in all. It is asked at every put.
func (a *Account) Total() (Total, error) {
	var l Ledger
	err := a.Read(&l)
	return l.total(), err
}

// Add adds to a slot what was written to its part of the root, or, with negative
// numbers, what was removed.
func (a *Account) Add(i int, u Usage) error {
	if u == (Usage{}) {
		return nil
	}
	return a.file.Change(i, func(c []int64) {
		s := slotOf(c)
		s.add(u)
		s.put(c)
	})
}

func (s *slot) add(u Usage) {
	s.bytes += u.Bytes
	s.entries += u.Entries
	s.churn += max(u.Bytes, -u.Bytes)
}

func (s *slot) put(c []int64) { c[0], c[1], c[2], c[3] = s.bytes, s.entries, s.churn, s.counted }

// Begin notes that a root without entries is counted, if nobody writes to it
// meanwhile. before is the account from before it was looked at.
func (a *Account) Begin(before *Ledger, now int64) {
	if t := before.total(); t.Known && t.Entries == 0 && t.Bytes == before[Shared].bytes {
		return
	} else if t.Bytes > before[Shared].bytes {
		time.Sleep(inFlight) // who just removed the last entries has yet to say so
	}
	_ = a.file.ChangeAll(func(i int, c []int64) {
		if s := slotOf(c); s.churn == before[i].churn && (i < Shards || s.bytes == 0) {
			s.bytes, s.entries, s.counted = 0, 0, now
			s.put(c)
		}
	})
}

// Renew puts a new account in the place of what can never be one: a directory, an
// account of another version.
func (a *Account) Renew() error {
	_, err := a.Total()
	if errors.Is(err, tally.ErrVersion) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EACCES) {
		return a.file.Renew()
	}
	return nil
}

// Total is the sum of an account.
type Total struct {
	Bytes, Entries int64
	Known          bool  // of every shard; else those that are not are estimated
	Counted        int64 // when the shard was counted that was not for longest; 0: never
}

// total adds all shards. Keys are digests, so shards are about equally large,
// and those that are not known hold about as much as half of the known ones do
// at most. The median, since one image with many options makes one shard large.
func (l *Ledger) total() Total {
	t := Total{Counted: math.MaxInt64, Known: true}
	for i := range l {
		s := &l[i]
		t.Counted = min(t.Counted, s.counted)
		t.Known = t.Known && s.known()
		t.Bytes += max(s.bytes, 0)
		if i != Shared {
			t.Entries += max(s.entries, 0)
		}
	}
	if !t.Known {
		l.estimate(&t)
	}
	return t
}

// estimate adds to a total what shards hold that are not known, if enough are.
func (l *Ledger) estimate(t *Total) {
	var bytes, entries []int64
	for i := range Shards {
		if s := &l[i]; s.known() {
			bytes, entries = append(bytes, s.bytes), append(entries, s.entries)
		}
	}
	if len(bytes) < 4 {
		return
	}
	slices.Sort(bytes)
	slices.Sort(entries)
	for i := range Shards {
		if s := &l[i]; !s.known() {
			t.Bytes += max(bytes[len(bytes)/2]-max(s.bytes, 0), 0)
			t.Entries += max(entries[len(entries)/2]-max(s.entries, 0), 0)
		}
	}
}

// byAge returns the shards, those first that are not known, then those that
// were counted longest ago, in random order where that says nothing.
func (l *Ledger) byAge() []int {
	order := rand.Perm(Shards)
	age := func(s *slot) int64 {
		if !s.known() {
			return 0
		}
		return s.counted
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(age(&l[a]), age(&l[b])) })
	return order
}
