// Package evict keeps the account of a disk store, and the store within its limit.
//
// The account is a file with a slot of counters for each shard of the root, so
// the total is known without a walk and no writer waits for another one. It may
// drift: a writer is killed between its file and its addition, people delete
// files by hand. So shards are counted again now and then, see [Books].
//
// Over the limit, whoever overfilled the root trims it in the background: a
// group, which is a fair sample of the root, under a try-lock, to two thirds of its
// share, by the policy. See [Trim].
package evict

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Usage is a number of entries and the bytes that they take, directories included.
type Usage struct{ Bytes, Entries int64 }

func (u Usage) Plus(v Usage) Usage  { return Usage{u.Bytes + v.Bytes, u.Entries + v.Entries} }
func (u Usage) Minus(v Usage) Usage { return Usage{u.Bytes - v.Bytes, u.Entries - v.Entries} }

// Policy says which entries go first when the limit is passed.
type Policy uint8

// The policies.
const (
	LRU  Policy = iota // those that were not used for longest
	Cost               // those that save the least build time per byte, aged
)

func (p Policy) String() string {
	if p == Cost {
		return "cost"
	}
	return "lru"
}

// Victim is what can be removed to make room. It is kept small: there are many.
type Victim struct {
	Names  [4][16]byte // of its directories
	Number uint32
	Entry  bool // a .bin; else a recipe that is left over
	Other  bool // of another version, which the account is not for
	Used   int64
	Ctime  int64
	Ino    uint64
	Size   int64 // what removing it frees
	Cost   int64 // nanoseconds that its build cost
}

// halfLife is the time without use after which an entry counts half as much.
const halfLife = 7 * 24 * time.Hour

// Worth ranks an entry as the policy Cost does, by what its build took, its size, and
// for how long it was not used: of two the one that is worth more goes later.
func Worth(cost time.Duration, size int64, unused time.Duration) float64 {
	return float64(cost) / float64(max(size, 1)) * math.Exp2(-float64(max(unused, 0))/float64(halfLife))
}

// sort sorts victims, the first to go first. A use in the future was noted by a
// clock that was wrong, and counts as now, or it would never be old.
func (p Policy) sort(victims []Victim, now int64) {
	age := func(a, b *Victim) int { return cmp.Compare(min(a.Used, now), min(b.Used, now)) }
	worth := func(v *Victim) float64 { return Worth(time.Duration(v.Cost), v.Size, time.Duration(now-v.Used)) }
	slices.SortFunc(victims, func(a, b Victim) int {
		if p != Cost {
			return age(&a, &b)
		}
		return cmp.Or(cmp.Compare(worth(&a), worth(&b)), age(&a, &b))
	})
}
