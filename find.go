package kernstash

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// find asks the disk tier, then its layers. A nil entry is a miss, for the
// reason that is returned with it.
func (c *Cache) find(ctx context.Context, k key.Key) (e *store.Entry, from store.Store, why reason.Reason) {
	return c.findBy(ctx, k, store.Store.Get)
}

// findBy is find with the method that gets the entry.
func (c *Cache) findBy(ctx context.Context, k key.Key, get func(store.Store, context.Context, key.Key) (*store.Entry, error)) (
	e *store.Entry, from store.Store, why reason.Reason,
) {
	why = reason.MissTierOff
	for i, s := range c.stores {
		entry, err := get(s, ctx, k)
		if err == nil {
			if s == c.written {
				contents.SaveSoon()
			}
			return entry, s, 0
		}
		var miss *store.MissError
		if i == 0 && errors.As(err, &miss) {
			why = miss.Reason // that of the writable root says most
		}
		on(c.trace.disk, func(l *slog.Logger) { l.Debug("miss", "key", k.Short(), "reason", err.Error()) })
	}
	return nil, nil, why
}

// countMiss counts a miss with its reason. What the store found damaged, it
// counted itself.
func (c *Cache) countMiss(why reason.Reason) {
	c.stats.Add(stats.DiskMisses, 1)
	c.stats.Add(stats.Of(why), 1)
	if why == reason.MissRefused {
		c.stats.Add(stats.Corrupt, 1)
	}
}

// The wait for other processes' builds of one program is bounded in all. What a
// build costs is not known: where it were, there would be an entry. So the bound
// follows the size of the source: a process that is stopped while it builds a small
// program must not stop others for as long as a large one may take.
const (
	shortestWait = 15 * time.Second
	longestWait  = 60 * time.Second
	waitPerByte  = time.Millisecond

	// After a wait that ran out, this process has no patience for a while: what
	// stopped one builder may have stopped more.
	distrustFor  = 5 * time.Minute
	distrustWait = time.Second
)

// waitFor bounds the wait for another process's build of a recipe.
func (c *Cache) waitFor(r *key.Recipe) time.Duration {
	if time.Now().UnixNano() < c.distrustUntil.Load() {
		return distrustWait
	}
	size := r.Image.Size()
	if r.Image.ReadsFiles() || size >= int64((longestWait-shortestWait)/waitPerByte) {
		return longestWait
	}
	return shortestWait + time.Duration(size)*waitPerByte
}

// lockBuild makes this process the one that builds k, or waits for the one that
// does. A nil unlock means: no lock was to be had, build without. waited says
// that somebody else was building, so that the entry may be there by now.
//
// Who holds locks for programs that wait for the application's launch does not
// wait for others: two such processes would wait for each other, and neither's
// application could go on.
func (c *Cache) lockBuild(ctx context.Context, k key.Key, r *key.Recipe) (unlock func(), waited bool) {
	if !c.writes() {
		return nil, false
	}
	unlock, err := c.written.Lock(ctx, k, 0)
	if err == nil {
		return unlock, false
	}
	if !errors.Is(err, store.ErrLocked) {
		on(c.trace.disk, func(l *slog.Logger) { l.Debug("no lock", "key", k.Short(), "error", err.Error()) })
		return nil, false
	}
	if c.awaiting.Load() > 0 {
		return nil, false
	}
	bound := c.waitFor(r)
	begin := time.Now()
	c.stats.Add(stats.DiskWaits, 1)
	on(c.trace.disk, func(l *slog.Logger) { l.Debug("waiting for another process", "key", k.Short(), "bound", bound) })
	unlock, err = c.lockUnlessAwaiting(ctx, k, begin.Add(bound*2/3))
	if errors.Is(err, errAwaiting) {
		return nil, true
	}
	if errors.Is(err, store.ErrLocked) {
		// Its builder hangs. Those who gave up on it queue behind one another
		// rather than all compile at once, for what is left of the time.
		c.distrustUntil.Store(time.Now().Add(distrustFor).UnixNano())
		c.stats.Add(stats.DiskWaitsGivenUp, 1)
		on(c.trace.disk, func(l *slog.Logger) { l.Warn("gave up waiting", "key", k.Short(), "waited", time.Since(begin)) })
		unlock, err = c.lockUnlessAwaiting(ctx, overtime(k), begin.Add(bound))
	}
	if err != nil {
		return nil, true
	}
	return unlock, true
}

// errAwaiting ends a wait for others when one of our own programs has come to
// wait for the application's launch.
var errAwaiting = errors.New("a program of ours awaits its launch")

// lockUnlessAwaiting is Lock until a deadline in slices, between which it looks
// whether this process may still wait for others.
func (c *Cache) lockUnlessAwaiting(ctx context.Context, k key.Key, deadline time.Time) (unlock func(), err error) {
	const slice = 25 * time.Millisecond
	for {
		unlock, err = c.written.Lock(ctx, k, min(slice, time.Until(deadline)))
		if !errors.Is(err, store.ErrLocked) || !time.Now().Before(deadline) {
			return unlock, err
		}
		if c.awaiting.Load() > 0 {
			return nil, errAwaiting
		}
	}
}

// overtime returns the key whose lock orders those who gave up waiting for k.
func overtime(k key.Key) key.Key {
	for i := range k.Sum {
		k.Sum[i] ^= 0xff
	}
	return k
}
