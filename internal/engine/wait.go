package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The wait for somebody else's build is bounded in all. What a build costs is not known:
// where it were, there would be an entry. So the bound follows the size of the source: a
// process that is stopped while it builds a small program must not stop others for as
// long as a large one may take.
const (
	shortestWait = 15 * time.Second
	longestWait  = 60 * time.Second
	waitPerByte  = time.Millisecond

	// After a wait that ran out, this process has no patience for a while: what
	// stopped one builder may have stopped more.
	distrustFor  = 5 * time.Minute
	distrustWait = time.Second
)

// maxWait bounds the wait for another build of a recipe.
func (e *Engine) maxWait(r *key.Recipe) time.Duration {
	if time.Now().UnixNano() < e.distrustUntil.Load() {
		return distrustWait
	}
	size := r.Image.Size()
	if r.Image.ReadsFiles() || size >= int64((longestWait-shortestWait)/waitPerByte) {
		return longestWait
	}
	return shortestWait + time.Duration(size)*waitPerByte
}

// waits are those for other builds. Who holds locks for programs that wait for the
// application's launch does not wait for others: two such processes would wait for each
// other, and neither's application could go on.
type waits struct {
	mu      sync.Mutex
	holding int
	until   context.Context    // of those under way
	cancel  context.CancelFunc // ends them; nil: there is none
	all     sync.WaitGroup
}

// wait is one, which goes on until done is closed.
type wait struct {
	done      chan struct{}
	cancel    context.CancelFunc
	abandoned atomic.Bool

	// What came of it, once done is closed: what was stored meanwhile, or the lock.
	found  found
	unlock func() // nil: there is an entry, or the wait was given up
}

// abandon ends a wait that nobody is interested in.
func (w *wait) abandon() {
	w.abandoned.Store(true)
	w.cancel()
	go func() { // it may have the lock already
		<-w.done
		if w.unlock != nil {
			w.unlock()
		}
	}()
}

// hold ends all waits, and lets nobody wait until release is called.
func (w *waits) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holding++
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.holding--
	})
}

// begin begins a wait, until the context ends; nil: nobody may wait now. w.all counts it.
func (w *waits) begin() (context.Context, *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holding > 0 {
		return nil, nil
	}
	if w.cancel == nil {
		w.until, w.cancel = context.WithCancel(context.Background())
	}
	w.all.Add(1)
	until, cancel := context.WithCancel(w.until)
	return until, &wait{done: make(chan struct{}), cancel: cancel}
}

// close ends all waits until deadline, and lets nobody wait any more.
func (w *waits) close(deadline time.Time) {
	w.hold()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.all.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Until(deadline)):
	}
}

// tryLock takes the build lock of k without waiting. A nil unlock: somebody else has it,
// or no lock is to be had.
func (e *Engine) tryLock(ctx context.Context, k key.Key) (unlock func(), locked bool) {
	if !e.Writes() || e.locker == nil {
		return nil, false
	}
	unlock, err := e.locker.Lock(ctx, k, 0)
	if err == nil {
		return unlock, false
	}
	locked = errors.Is(err, store.ErrLocked)
	if !locked {
		e.log.Disk.Debug("no lock", "key", k.Short(), "error", err.Error())
	}
	return nil, locked
}

// lockBuild makes the caller the one who builds k, or returns a wait for the one who
// does, for as long as bound says. Neither: build without a lock.
func (e *Engine) lockBuild(ctx context.Context, k key.Key, bound func() time.Duration) (unlock func(), _ *wait) {
	unlock, locked := e.tryLock(ctx, k)
	if !locked {
		return unlock, nil
	}
	most := bound()
	if most <= 0 {
		return nil, nil
	}
	until, w := e.waits.begin()
	if w == nil {
		return nil, nil
	}
	e.count(stats.DiskWaits)
	e.log.Disk.Debug("waiting for another process", "key", k.Short(), "bound", most)
	go func() {
		defer e.waits.all.Done()
		defer w.cancel()
		defer close(w.done)
		defer func() {
			if v := recover(); v != nil { // whoever waits builds
				w.found = found{why: reason.MissUnreadable}
				e.warn("panic while waiting", "key", k.Short(), "panic", fmt.Sprint(v))
			}
		}()
		w.unlock = e.awaitLock(until, k, most)
		if w.abandoned.Load() {
			return
		}
		if w.found = e.find(context.Background(), k, nil); w.found.entry != nil && w.unlock != nil {
			w.unlock() // others who wait need not wait until it is loaded
			w.unlock = nil
		}
	}()
	return nil, w
}

// awaitLock waits for the lock of k for as long as bound says; nil: it gave up.
func (e *Engine) awaitLock(ctx context.Context, k key.Key, bound time.Duration) (unlock func()) {
	begin := time.Now()
	unlock, err := e.locker.Lock(ctx, k, bound*2/3)
	if errors.Is(err, store.ErrLocked) {
		// Its builder hangs. Those who gave up on it queue behind one another
		// rather than all compile at once, for what is left of the time.
		e.distrustUntil.Store(time.Now().Add(distrustFor).UnixNano())
		e.count(stats.DiskWaitsGivenUp)
		e.log.Disk.Warn("gave up waiting", "key", k.Short(), "waited", time.Since(begin))
		unlock, err = e.locker.Lock(store.WithWanted(ctx, k), queueKey(k), time.Until(begin.Add(bound)))
	}
	if err != nil {
		return nil
	}
	return unlock
}

// queueKey returns the key whose lock orders those who gave up waiting for k.
func queueKey(k key.Key) key.Key {
	for i := range k.Sum {
		k.Sum[i] ^= 0xff
	}
	return k
}
