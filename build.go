package kernstash

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// loadOrCompile makes a unit's live program: loaded from an artifact, or compiled.
func (x *Context[P, K]) loadOrCompile(ctx context.Context, u *unit[P, K], r Request) error {
	c := x.cache
	recipe, against, err := x.recipe(u.live.Devices(), r, u.tracked)
	if err != nil {
		return err
	}
	u.job = Job{Devices: u.live.Devices(), Recipe: recipe}
	if !against.None() {
		u.against = against
		x.count(stats.Of(against.Code))
		on(c.trace.disk, func(l *slog.Logger) { l.Info(against.String()) })
		return x.compile(ctx, u, r, nil, false)
	}
	u.key = recipe.Key()
	u.job.Key = u.key
	c.traceKey(u.key, recipe)
	if len(c.stores) == 0 {
		u.missed = reason.MissTierOff
		c.countMiss(u.missed)
		return x.compile(ctx, u, r, nil, false)
	}
	if !x.serves(ctx, u) {
		return x.compile(ctx, u, r, nil, false)
	}
	loaded, why, err := x.load(ctx, u)
	if loaded || err != nil {
		return err
	}
	if x.delegates(u.job) { // nothing will be there for having waited
		u.missed = why
		c.countMiss(why)
		return x.compile(ctx, u, r, nil, why == reason.MissAbsent)
	}
	unlock, waited := c.lockBuild(ctx, u.key, recipe)
	defer func() {
		if unlock != nil {
			unlock()
		}
	}()
	if waited || unlock != nil && why == reason.MissAbsent {
		// Another process may have stored it between our look and our lock. (A
		// damaged entry that nobody built anew is damaged still.)
		again := why
		if loaded, again, err = x.load(ctx, u); loaded || err != nil {
			return err
		}
		if again != reason.MissAbsent {
			why = again // else it was there before, and bad
		}
	}
	u.missed = why
	c.countMiss(why)
	hand := unlock
	unlock = nil // compile takes it over
	return x.compile(ctx, u, r, hand, why == reason.MissAbsent)
}

// load makes the live program from an artifact of the stores. An artifact that
// the driver refuses is a miss, and goes.
func (x *Context[P, K]) load(ctx context.Context, u *unit[P, K]) (loaded bool, why reason.Reason, err error) {
	c := x.cache
	entry, from, why := c.find(ctx, u.key)
	if entry == nil {
		return false, why, nil
	}
	start := time.Now()
	native, err := x.callLoad(ctx, u, entry.Artifact)
	took := time.Since(start)
	if errors.Is(err, ErrOutOfResources) || errors.Is(err, ErrAbandoned) {
		return false, 0, err
	}
	if err != nil && ctx.Err() != nil {
		return false, 0, context.Cause(ctx) // says nothing about the artifact
	}
	if err != nil {
		c.trace.warn("artifact refused by the driver", "key", u.key.Short(), "error", err.Error())
		c.discard(ctx, from, u.key)
		return false, reason.MissRefused, nil
	}
	c.stats.Add(stats.DiskHits, 1)
	c.stats.Add(stats.LoadTime, int64(took))
	c.stats.Add(stats.SavedTime, int64(entry.Artifact.Cost-took))
	on(c.trace.disk, func(l *slog.Logger) {
		l.Debug("hit", "key", u.key.Short(), "bytes", entry.Artifact.Size(), "load", took, "saved", entry.Artifact.Cost-took)
	})
	u.publish(native, Disk, entry.Artifact.Size())
	x.captures.restored(u, entry.Artifact)
	x.decide(u, Decision{
		Origin: Disk, Spent: took, Saved: entry.Artifact.Cost - took,
		Bytes: entry.Artifact.Size(), Kernels: kernelNames(entry.Artifact),
	})
	return true, 0, nil
}

// callLoad and callBuild call the runtime; no capture begins meanwhile.
func (x *Context[P, K]) callLoad(ctx context.Context, u *unit[P, K], a *store.Artifact) (P, error) {
	x.captures.busy(+1)
	defer x.captures.busy(-1)
	return x.rt.Load(ctx, u.job, a)
}

func (x *Context[P, K]) callBuild(ctx context.Context, u *unit[P, K]) (P, *store.Artifact, error) {
	x.captures.busy(+1)
	defer x.captures.busy(-1)
	return x.rt.Build(ctx, u.job)
}

// discard removes an entry that no driver takes.
func (c *Cache) discard(ctx context.Context, from store.Store, k key.Key) {
	if from != c.written || !c.writes() {
		return // a read-only layer: the next build's entry is found before it
	}
	if err := from.Delete(ctx, k); err != nil {
		c.trace.warn("refused artifact not deleted", "key", k.Short(), "error", err.Error())
	}
}

// compile makes the live program from the recipe, and sees that its artifact is
// stored, now or after a launch. It takes the build lock over.
func (x *Context[P, K]) compile(ctx context.Context, u *unit[P, K], r Request, unlock func(), explain bool) error {
	c := x.cache
	defer func() {
		if unlock != nil {
			unlock()
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !u.key.IsZero() && !x.delegates(u.job) { // whose headers are stored with the recipe
		c.keepHeaders(u.tracked)
	}
	if explain {
		u.workAhead(!x.delegates(u.job) && !x.captures.possible(u.job))
		defer u.forgo()
	}
	u.tracked.watch()
	start := time.Now()
	native, artifact, err := x.callBuild(ctx, u)
	took := time.Since(start)
	if errors.Is(err, ErrAbandoned) {
		return err
	}
	var unfit *UnfitError
	if errors.As(err, &unfit) {
		artifact, err = nil, nil
	}
	if err == nil && artifact == nil && x.delegates(u.job) {
		x.delegated(u, native, explain, unlock)
		unlock = nil
		return nil
	}
	x.count(stats.Builds)
	c.stats.Add(stats.BuildTime, int64(took))
	if changed := u.tracked.changed(); changed != "" {
		x.disown(u, r.Image, changed)
	} else if unfit != nil {
		x.notStored(u, deps.Reason{Code: reason.NotCacheableRuntime, Detail: unfit.Why})
	}
	if err != nil {
		x.count(stats.BuildFailures)
		x.decide(u, Decision{Spent: took, Err: err})
		return err
	}
	built := x.decisionLater(u, Decision{Origin: Compiled, Spent: took, Kernels: kernelNames(artifact)})
	defer built()
	on(c.trace.memory, func(l *slog.Logger) { l.Debug("built", "program", u.label(), "took", took) })
	if artifact == nil {
		u.publish(native, Compiled, u.job.Recipe.Image.Size())
	} else {
		u.publish(native, Compiled, artifact.Size())
	}
	switch {
	case u.key.IsZero() || !c.writes():
		return nil // counted before
	case took < c.settings.MinBuildTime:
		x.count(stats.Of(reason.NotCacheableCheap))
		return nil
	case artifact == nil && x.captures.possible(u.job):
		x.captures.await(u, unlock, explain, took)
		unlock = nil
		return nil
	case artifact == nil || len(artifact.Binaries) == 0:
		x.count(stats.Of(reason.NotCacheableRuntime))
		return nil
	}
	x.keep(u, newEntry(u.key, u.job.Recipe, artifact, took), explain, unlock)
	unlock = nil
	return nil
}

// delegated publishes a unit whose artifact another process makes: the miss is
// explained, and the header files are kept, for that process.
func (x *Context[P, K]) delegated(u *unit[P, K], native P, explain bool, unlock func()) {
	tell := x.decisionLater(u, Decision{Origin: Compiled})
	defer tell()
	u.publish(native, Compiled, u.job.Recipe.Image.Size())
	if !x.cache.writes() || u.key.IsZero() {
		if unlock != nil {
			unlock()
		}
		return
	}
	x.cache.storer.add(u.storing(&store.Entry{Key: u.key, Recipe: u.job.Recipe}, explain, unlock))
}

// disown notes that nobody knows which header files a unit was built from: it is
// not stored, and its image's alone.
func (x *Context[P, K]) disown(u *unit[P, K], m *Image, changed string) {
	u.live.Own(m.serial)
	x.notStored(u, deps.Reason{Code: reason.NotCacheableChanged, Detail: changed})
}

// notStored notes, after the build, why a unit is not stored.
func (x *Context[P, K]) notStored(u *unit[P, K], why deps.Reason) {
	u.key, u.against = key.Key{}, why
	x.count(stats.Of(why.Code))
	on(x.cache.trace.disk, func(l *slog.Logger) { l.Info(why.String()) })
}

// storing returns an entry of the unit on its way to disk.
func (u *unit[P, K]) storing(e *store.Entry, explain bool, unlock func()) storing {
	w := storing{entry: e, explain: explain, unlock: unlock, headers: u.tracked.take(), kept: u.tracked.keptHeaders()}
	w.ahead, u.ahead = u.ahead, nil
	if explain {
		w.decision, u.decision = u.decision, nil // told with what is found out
	}
	if u.tracked != nil {
		w.was = u.tracked.was
	}
	return w
}

// newEntry returns the entry of an artifact; what the runtime left open of it
// is filled in on a copy.
func newEntry(k key.Key, r *key.Recipe, a *store.Artifact, cost time.Duration) *store.Entry {
	own := *a
	if own.Cost == 0 {
		own.Cost = cost
	}
	if own.Created.IsZero() {
		own.Created = time.Now()
	}
	return &store.Entry{Key: k, Recipe: r, Artifact: &own}
}

// publish makes the runtime's program the unit's.
func (u *unit[P, K]) publish(native P, origin Origin, bytes int64) {
	u.origin = origin
	u.live.Publish(native, bytes)
}
