package evict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/store"
)

// Options are what an Evictor works with.
type Options struct {
	MaxSize int64 // 0: no limit
	Policy  Policy
	Bounds  Bounds
	Now     func() time.Time
	Trace   *slog.Logger
	Open    func() (Root, *Account, func(), error) // opens the root; the function closes it
	Evicted func(v *Victim, u Usage)
}

// Evictor counts, in the background, what was not counted for long, and trims a
// root that is over its limit.
type Evictor struct {
	o      Options
	ctx    context.Context // of a run
	cancel context.CancelFunc
	walks  context.Context // of its walks, which ends before
	hurry  context.CancelFunc

	others [Shards]atomic.Int64 // bytes of entries of other versions, when the shard was last counted

	mu      sync.Mutex
	running bool
	stopped bool
	rest    time.Time     // no run before
	pause   time.Duration // the last one for others that evict; 0: the last run found none
	done    sync.WaitGroup
}

// New returns an evictor that does nothing yet.
func New(o Options) *Evictor {
	e := &Evictor{o: o}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.walks, e.hurry = context.WithCancel(e.ctx)
	return e
}

// Reserve decides whether something may be written. It never waits: while the
// total is above the limit, eviction has not caught up and the put is dropped. So
// the total is never further above than by what was under way. It returns the total
// for Settle; nil: nobody knows.
func (e *Evictor) Reserve(a *Account) (*Total, error) {
	t, err := a.Total()
	if err != nil {
		return nil, nil
	}
	if e.o.MaxSize > 0 && t.Bytes > e.o.MaxSize {
		e.Wake()
		return nil, fmt.Errorf("%d of %d bytes used: %w", t.Bytes, e.o.MaxSize, store.ErrDropped)
	}
	return &t, nil
}

// Settle is called after a put of so many bytes: it wakes the evictor where there
// is work, or where nobody knows, since the account could not be read.
func (e *Evictor) Settle(before *Total, bytes int64) {
	if before == nil && e.o.MaxSize > 0 || before != nil && e.work(*before, bytes) {
		e.Wake()
	}
}

// work reports whether there is something to count or to trim.
func (e *Evictor) work(t Total, more int64) bool {
	return !t.Known || stale(t.Counted, e.o.Now().Unix()) || e.o.MaxSize > 0 && t.Bytes+more > e.highWater(t.Entries)
}

// highWater is the total from which on a root is trimmed: the limit, or, where there
// is much to look at before anything is freed, a sixteenth less, so that puts need
// not be dropped; and up to twice that, while it is less than what a busy machine
// writes until then, about 512 entries.
func (e *Evictor) highWater(entries int64) int64 {
	if entries < cmp.Or(e.o.Bounds.Exact, exactBelow) {
		return e.o.MaxSize
	}
	return e.o.MaxSize - max(e.o.MaxSize/16, min(e.o.MaxSize/8, e.o.MaxSize/entries*512))
}

// Others returns how many bytes of entries of other versions were seen.
func (e *Evictor) Others() (bytes int64) {
	for i := range e.others {
		bytes += e.others[i].Load()
	}
	return bytes
}

// Wait waits until no run is under way.
func (e *Evictor) Wait() { e.done.Wait() }

// Stop ends the evictor, waiting at most wait, and a little for a disk that hangs.
func (e *Evictor) Stop(wait time.Duration) {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		e.done.Wait()
		close(ended)
	}()
	for _, end := range []func(){e.hurry, e.cancel, func() {}} {
		select {
		case <-ended:
			return
		case <-time.After(wait / 2):
			end()
		}
	}
}

// A store whose entries cannot be evicted, since they are in use, or whose
// account cannot be read, is not walked at every put: a futile run is followed
// by a pause, the longer the more it cost.
const (
	futilePause  = time.Second
	futileFactor = 20
)

// A process that found that others evict does not ask again for busyPause, and for
// twice as long each time that it finds so again, up to longestBusyPause: a crowd that
// asks at every put takes more time than those that evict.
const (
	busyPause        = 40 * time.Millisecond
	longestBusyPause = time.Second
)

// Wake starts a run, unless one is under way. It does not wait.
func (e *Evictor) Wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running || e.stopped || time.Now().Before(e.rest) {
		return
	}
	e.running = true
	e.done.Go(func() {
		start := time.Now()
		futile, busy := e.run()
		now := time.Now()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running = false
		if !busy {
			e.pause = 0
		}
		if futile {
			e.rest = now.Add(max(futilePause, futileFactor*now.Sub(start)))
		} else if busy {
			e.pause = min(max(busyPause, 2*e.pause), longestBusyPause)
			e.rest = now.Add(e.pause)
		}
	})
}

// run is one run. futile says that the next one should not come at once, busy that
// others are at it.
func (e *Evictor) run() (futile, busy bool) {
	root, account, done, err := e.o.Open()
	if err != nil {
		return true, false
	}
	defer done()
	b := OpenBooks(account, false, e.o.Now, e.o.Trace)
	before := b.l.total()
	if b.account != nil && !e.work(before, 0) {
		return false, false // others were here
	}
	t := &Trim{Root: root, Books: b, Policy: e.o.Policy, Bounds: e.o.Bounds, Down: e.o.MaxSize / 3 * 2, hurry: e.walks, others: &e.others, Freed: e.o.Evicted}
	// Trims come first: puts are dropped meanwhile, and a count of all may take long.
	err = e.trim(t)
	if total := b.l.total(); err == nil && (!total.Known || stale(total.Counted, e.o.Now().Unix())) {
		err = t.recount(e.ctx)
		if busy = errors.Is(err, lock.ErrBusy); busy {
			err = nil
		}
		if err == nil {
			err = e.trim(t)
		}
	}
	if err != nil {
		e.o.Trace.Warn("evictor", "reason", err)
		return true, false
	}
	after := b.l.total()
	if t.freed > 0 {
		e.o.Trace.Debug("evicted", "before", before.Bytes, "after", after.Bytes, "limit", e.o.MaxSize)
	}
	if busy = busy || t.busy && t.freed == 0; busy {
		return false, true
	}
	return b.account == nil || e.o.MaxSize > 0 && after.Bytes > e.o.MaxSize && t.freed == 0 || !t.partial && !after.Known, false
}

func (e *Evictor) trim(t *Trim) error {
	total := t.Books.l.total()
	t.Above = e.highWater(total.Entries)
	if e.o.MaxSize == 0 || total.Bytes <= t.Above {
		return nil
	}
	return t.Run(e.ctx)
}
