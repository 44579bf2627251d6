package live

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

const maxStripes = 32

// counter counts the users of an object that starts alive, with no user. Its owner
// calls kill once the object should go; the caller that ends the last use is told to free it.
//
// With a plain atomic counter two goroutines on two cores do less together than
// one alone, as each core waits for the other's cache line. This one spreads
// acquisitions and releases over several lines, and adds them up only once the
// object is about to go.
type counter struct {
	lines []line // a stripe each, of which it has one of the places
	place int
	dead  atomic.Bool // no new users by acquire
	freed atomic.Bool // somebody has been told to free
}

// A line is a cache line: one stripe of several objects, which those who have it in their cache use, too.
type line [4]stripe

type stripe struct{ acquired, released atomic.Int64 }

// counters makes counters that share lines.
type counters struct {
	mu    sync.Mutex
	lines []line
	next  int // place in lines
}

// add returns a counter for an object that goroutines on all cores use. It must not be copied once
// it is in use.
func (s *counters) add() counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next %= len(line{}); s.next == 0 {
		n := 4
		for n < 4*runtime.GOMAXPROCS(0) && n < maxStripes {
			n *= 2
		}
		s.lines = make([]line, n)
	}
	s.next++
	return counter{lines: s.lines, place: s.next - 1}
}

// mine returns the stripe of the calling goroutine. The address of a variable
// on its stack tells goroutines apart well enough, and costs nothing.
func (c *counter) mine() *stripe {
	var here byte
	at := uintptr(unsafe.Pointer(&here)) >> 11
	at ^= at >> 7
	return &c.lines[at&uintptr(len(c.lines)-1)][c.place]
}

// acquire adds a user, and reports whether the object stays. Otherwise the caller
// must call refuse with s.
func (c *counter) acquire() (s *stripe, ok bool) {
	s = c.mine()
	s.acquired.Add(1)
	return s, !c.dead.Load()
}

// refuse takes back what acquire added in s. True: the caller must free the object
// now, as the attempt may have hidden the end of the last use from the one who ended it.
func (c *counter) refuse(s *stripe) (free bool) {
	s.acquired.Add(-1)
	return c.end()
}

// retain adds a user on behalf of one that exists already.
func (c *counter) retain() { c.mine().acquired.Add(1) }

// release takes a user away. True: the caller must ask end whether it was the last one.
func (c *counter) release() (dead bool) {
	c.mine().released.Add(1)
	return c.dead.Load()
}

// kill lets no new user in. True: the caller must free the object now.
func (c *counter) kill() (free bool) {
	c.dead.Store(true)
	return c.end()
}

// end reports whether the caller is the first to see that a dead counter has no users, and
// so must free the object now.
func (c *counter) end() bool { return c.idle() && c.freed.CompareAndSwap(false, true) }

// seize ends all use at once. True: the caller must free the object now; later
// releases change nothing.
func (c *counter) seize() (free bool) {
	c.dead.Store(true)
	return c.freed.CompareAndSwap(false, true)
}

// idle reports whether a dead counter has no users. It reads all releases
// before all acquisitions: a user that was added after the death was added by
// another one, whose release comes later than that addition. So if the release
// was seen, the addition is seen too, and a user is never overlooked.
func (c *counter) idle() bool {
	var released, acquired int64
	for i := range c.lines {
		released += c.lines[i][c.place].released.Load()
	}
	for i := range c.lines {
		acquired += c.lines[i][c.place].acquired.Load()
	}
	return acquired == released
}

// acquired returns how often users were added.
func (c *counter) acquired() int64 {
	var n int64
	for i := range c.lines {
		n += c.lines[i][c.place].acquired.Load()
	}
	return n
}
