// Package refcount counts the users of a shared object without a place that
// all of them write to.
//
// A plain atomic counter makes every core wait for every other one: two
// goroutines on two cores then do less together than one alone. A [Counter]
// spreads acquisitions and releases over several cache lines, and adds them up
// only once the object is about to go.
package refcount

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

const maxStripes = 32

// Counter counts users. It starts alive, with no user. The owner calls Kill
// once the object should go; whoever makes the last use end is told to free it.
type Counter struct {
	stripes []stripe
	dead    atomic.Bool // no new users by Acquire
	freed   atomic.Bool // somebody has been told to free
}

type stripe struct {
	acquired, released atomic.Int64

	_ [48]byte // a cache line each
}

// New returns a Counter for an object that goroutines on all cores use. It must
// not be copied once it is in use.
func New() Counter {
	n := 4
	for n < 4*runtime.GOMAXPROCS(0) && n < maxStripes {
		n *= 2
	}
	return Counter{stripes: make([]stripe, n)}
}

// mine returns the stripe of the calling goroutine. The address of a variable
// on its stack tells goroutines apart well enough, and costs nothing.
func (c *Counter) mine() *stripe {
	var here byte
	at := uintptr(unsafe.Pointer(&here)) >> 11
	at ^= at >> 7
	return &c.stripes[at&uintptr(len(c.stripes)-1)]
}

// Acquire adds a user, unless the object is about to go. When it fails, free
// tells, as for Release, that the caller must free the object now: the attempt
// may have hidden the end of the last use from the one who ended it.
func (c *Counter) Acquire() (ok, free bool) {
	s := c.mine()
	s.acquired.Add(1)
	if !c.dead.Load() {
		return true, false
	}
	s.acquired.Add(-1)
	return false, c.idle() && c.freed.CompareAndSwap(false, true)
}

// Retain adds a user on behalf of one that exists already.
func (c *Counter) Retain() { c.mine().acquired.Add(1) }

// Release takes a user away. True: the caller must free the object now.
func (c *Counter) Release() (free bool) {
	c.mine().released.Add(1)
	return c.dead.Load() && c.idle() && c.freed.CompareAndSwap(false, true)
}

// Kill lets no new user in. True: the caller must free the object now.
func (c *Counter) Kill() (free bool) {
	c.dead.Store(true)
	return c.idle() && c.freed.CompareAndSwap(false, true)
}

// Seize ends all use at once. True: the caller must free the object now; later
// releases change nothing.
func (c *Counter) Seize() (free bool) {
	c.dead.Store(true)
	return c.freed.CompareAndSwap(false, true)
}

// idle reports whether a dead counter has no users. It reads all releases
// before all acquisitions: a user that was added after the death was added by
// another one, whose release comes later than that addition. So if the release
// was seen, the addition is seen too, and a user is never overlooked.
func (c *Counter) idle() bool {
	var released, acquired int64
	for i := range c.stripes {
		released += c.stripes[i].released.Load()
	}
	for i := range c.stripes {
		acquired += c.stripes[i].acquired.Load()
	}
	return acquired == released
}

// Acquired returns how often users were added.
func (c *Counter) Acquired() int64 {
	var n int64
	for i := range c.stripes {
		n += c.stripes[i].acquired.Load()
	}
	return n
}
