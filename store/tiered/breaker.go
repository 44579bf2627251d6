package tiered

import (
	"math/rand/v2"
	"sync"
	"time"
)

// The times for which a breaker stays open, before jitter.
const (
	shortestBreak = time.Second
	longestBreak  = time.Minute
)

// breaker reports whether something that may be out of order is worth a call. It is safe for
// concurrent use; the zero value is closed.
type breaker struct {
	mu      sync.Mutex
	open    bool
	probing bool          // by one call
	until   time.Time     // when it is probed
	pause   time.Duration // that began last; zero: none
	lost    time.Duration // by calls in a row that ended at their deadlines
}

// state is what a breaker says.
type state uint8

const (
	closed state = iota // call
	broken              // do not
	probe               // one may find out
)

// ask returns what to do now. It is the caller who probes, and calls worked, failed or
// unprobed in the end.
func (b *breaker) ask() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.open:
		return closed
	case b.probing || time.Now().Before(b.until):
		return broken
	}
	b.probing = true
	return probe
}

// closed reports whether calls are made.
func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

// worked notes a call that was answered, and reports whether that closed the breaker.
func (b *breaker) worked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.open
	b.open, b.probing, b.pause, b.lost = false, false, 0, 0
	return was
}

// unprobed notes that a call, which may have been the probe, says nothing.
func (b *breaker) unprobed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// failed notes a call that failed, and reports whether that opened the breaker.
func (b *breaker) failed() bool { return b.late(1, 0) }

// late notes a call that ended at its deadline, having cost so much. The breaker opens when
// calls in a row have cost most: a short deadline alone does not prove much.
func (b *breaker) late(cost, most time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost += cost; b.lost < most && !b.open {
		return false
	}
	if b.open && !b.probing && time.Now().Before(b.until) {
		return false // one of several that were under way
	}
	opened := !b.open
	b.pause = min(max(2*b.pause, shortestBreak), longestBreak)
	b.open, b.probing, b.lost = true, false, 0
	b.until = time.Now().Add(jitter(b.pause))
	return opened
}

// jitter returns something between three and five quarters of d: what failed for many at once
// is not to be tried again by all of them at once.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// quiet reports whether nothing is to be done now: neither a call nor a probe.
func (b *breaker) quiet() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open && (b.probing || time.Now().Before(b.until))
}
