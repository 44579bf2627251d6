package flight

import (
	"context"
	"sync"
	"time"
)

// Await waits until done, at most until deadline, and reports what done says then. The lock
// of c is held; whoever changes what done looks at signals c.
func Await(c *sync.Cond, deadline time.Time, done func() bool) bool {
	wake := time.AfterFunc(time.Until(deadline), func() {
		c.L.Lock() // else the signal may come between a waiter's look and its wait
		defer c.L.Unlock()
		c.Broadcast()
	})
	defer wake.Stop()
	for !done() && time.Now().Before(deadline) {
		c.Wait()
	}
	return done()
}

// Sleep waits for d, or until ctx ends: the error is its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Open are things under way, by key: of those who ask at once for one key, the first begins
// it. The zero value is ready.
type Open[K comparable, T any] struct {
	mu  sync.Mutex
	all map[K]*T
}

// Begin returns what is under way of a key. Where there is nothing it is one, and the
// caller's until it calls End.
func (o *Open[K, T]) Begin(k K, one *T) (_ *T, begun bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if there := o.all[k]; there != nil {
		return there, false
	}
	if o.all == nil {
		o.all = make(map[K]*T)
	}
	o.all[k] = one
	return one, true
}

// Find returns what is under way of a key; nil: nothing.
func (o *Open[K, T]) Find(k K) *T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[k]
}

// End ends what the caller began.
func (o *Open[K, T]) End(k K) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, k)
}
