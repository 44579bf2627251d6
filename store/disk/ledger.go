package disk

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// shards is into how many parts the account divides a root: by the first two
// digits of the image directory's name, which are those of a digest. So a part
// can be counted without the rest, and all are about equally large.
const shards = 256

// The account has a slot for each shard, and one for what entries share: headers
// and manifests.
const (
	sharedSlot   = shards
	accountSlots = shards + 1
)

// The counters of a slot.
const (
	accountBytes = iota
	accountEntries
	accountChurn   // bytes that were ever added and taken off: it shows changes
	accountCounted // when the shard was last counted, in seconds since 1970; 0: never
	accountCounters
)

// shardOf returns the shard of a leaf.
func shardOf(names leafNames) int {
	n, _ := strconv.ParseUint(names[1][:2], 16, 8) // isDirName says that it is one
	return int(n)
}

// slot is what the account says of a shard.
type slot struct{ bytes, entries, churn, counted int64 }

// known says whether the shard was counted, and has not drifted so far since
// that it cannot be right.
func (s *slot) known() bool { return s.counted > 0 && s.bytes >= 0 && s.entries >= 0 }

// ledger is what the account says.
type ledger [accountSlots]slot

// total is the sum of an account.
type total struct {
	bytes, entries int64
	known          bool  // of every shard; else those that are not are estimated
	counted        int64 // when the shard was counted that was not for longest; 0: never
}

// minKnown is how many shards must be known to estimate the others by them.
const minKnown = 4

// total adds all shards. Keys are digests, so shards are about equally large,
// and those that are not known hold about as much as half of the known ones do
// at most. The median, since one image with many options makes one shard large.
func (l *ledger) total() total {
	t := total{known: true, counted: l[sharedSlot].counted}
	for i := range l {
		s := &l[i]
		t.counted = min(t.counted, s.counted)
		t.known = t.known && s.known()
		t.bytes += max(s.bytes, 0)
		if i != sharedSlot {
			t.entries += max(s.entries, 0)
		}
	}
	if !t.known {
		l.estimate(&t)
	}
	return t
}

// estimate adds to a total what shards hold that are not known.
func (l *ledger) estimate(t *total) {
	var bytes, entries []int64
	for i := range shards {
		if s := &l[i]; s.known() {
			bytes, entries = append(bytes, s.bytes), append(entries, s.entries)
		}
	}
	if len(bytes) < minKnown {
		return
	}
	typical := slot{bytes: median(bytes), entries: median(entries)}
	for i := range shards {
		if s := &l[i]; !s.known() {
			t.bytes += max(typical.bytes-max(s.bytes, 0), 0)
			t.entries += max(typical.entries-max(s.entries, 0), 0)
		}
	}
}

func median(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// byAge returns the shards, those first that are not known, then those that
// were counted longest ago, in random order where that says nothing.
func (l *ledger) byAge() []int {
	order := rand.Perm(shards)
	age := func(i int) int64 {
		if !l[i].known() {
			return 0
		}
		return l[i].counted
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(age(a) - age(b)) })
	return order
}
