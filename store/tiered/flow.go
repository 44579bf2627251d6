package tiered

import (
	"context"
	"sync"
	"time"

	"github.com/kernstash/kernstash/store"
)

// What is worth waiting for beyond the deadline of a call.
const (
	// Less than this, in bytes a second since the first one, does not move the deadline.
	worthRate = 1 << 20

	// A call in all takes no longer than this, or so many times its deadline where it is not known what
	// the build costs.
	longestFlow  = 30 * time.Second
	flowTimeouts = 10

	// A remote that sends this, in bytes a second of a call that ended too early, answers: something small
	// would have arrived.
	answersRate = 128 << 10

	// For so many times as long as a call was waited for in vain its rate is remembered.
	paceLasts = 10
)

// bound is how long a call may take.
type bound struct {
	limit time.Duration // without a byte
	most  time.Duration // in all
	pace  *pace         // what is known of the store, and learnt; nil: neither
}

// within is the bound of a call that takes d at most, whatever it moves.
func within(d time.Duration) bound { return bound{limit: d, most: d} }

// bound returns how long a read may take that somebody waits for: less than half of what it may save, where that
// is known.
func (t *tier) bound(ctx context.Context) bound {
	b := bound{limit: t.limit(ctx), pace: &t.pace}
	b.most = flowTimeouts * t.Timeout
	if cost := store.Cost(ctx); cost > 0 {
		b.most = cost / 2
	}
	b.most = max(b.limit, min(b.most, longestFlow))
	return b
}

// flow ends a call for which its bound is over, and knows why. It is a [store.Flow].
type flow struct {
	bound
	begin time.Time
	end   context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	total int64 // bytes that are announced
	moved int64
	first time.Time // when they were
	last  time.Time
}

func newFlow(b bound, end context.CancelCauseFunc) *flow {
	f := &flow{bound: b, begin: time.Now(), end: end}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = time.AfterFunc(b.limit, f.check)
	return f
}

// Expect ends the call at once where so many bytes cannot come in time.
func (f *flow) Expect(ctx context.Context, total int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total += max(total, 0)
	if rate := f.pace.now(); rate > 0 && float64(f.total) > rate*f.most.Seconds() {
		f.end(store.ErrSlow)
		return store.ErrSlow
	}
	return nil
}

// Moved notes that bytes have arrived, or gone.
func (f *flow) Moved(n int) error {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.moved == 0 {
		f.first = now
	}
	f.moved += int64(n)
	f.last = now
	return nil
}

// check ends the call, unless what has moved moves its deadline.
func (f *flow) check() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if left := f.deadline().Sub(now); left > 0 {
		f.timer.Reset(left)
		return
	}
	why := errLate
	if f.total > 0 && float64(f.moved) >= answersRate*now.Sub(f.begin).Seconds() && now.Sub(f.last) < f.limit/2 {
		why = store.ErrSlow
		f.pace.set(float64(f.moved)/max(f.last.Sub(f.first), time.Millisecond).Seconds(), paceLasts*now.Sub(f.begin))
	}
	f.end(why)
}

// deadline is when the call ends if nothing moves any more. What is announced has to come at such a rate
// that all of it comes in time. f.mu is held.
func (f *flow) deadline() time.Time {
	limit, most := f.begin.Add(f.limit), f.begin.Add(f.most)
	if f.moved == 0 || !most.After(f.first) {
		return limit
	}
	need := max(worthRate, float64(f.total)/most.Sub(f.first).Seconds())
	until := f.first.Add(time.Duration(float64(f.moved) / need * float64(time.Second)))
	if idle := f.last.Add(f.limit); idle.Before(until) {
		until = idle
	}
	if most.Before(until) {
		until = most
	}
	if until.Before(limit) {
		return limit
	}
	return until
}

// timed is a context whose deadline may move. It tells that which it has as long as nothing moves, since engines that
// tell of no bytes make it the one of their connections.
type timed struct {
	context.Context
	deadline time.Time
}

func (c timed) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// pace remembers for a while how fast a far store sent what did not arrive in time, so that others as large
// delay nobody. The zero value knows nothing.
type pace struct {
	mu    sync.Mutex
	rate  float64
	until time.Time
}

func (p *pace) set(rate float64, lasts time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.until = rate, time.Now().Add(lasts)
}

// now returns bytes a second; 0: nothing is known.
func (p *pace) now() float64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().After(p.until) {
		return 0
	}
	return p.rate
}
