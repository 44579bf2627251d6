package kernstash

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Live returns the program of a request if it is in memory, counted: call
// Release when done. Nil: it is not. It builds nothing and waits for nobody.
func (x *Context[P, K]) Live(r Request) (*Program[P, K], error) {
	id, err := r.id(x.rt.Devices())
	if err != nil {
		return nil, fmt.Errorf("live program: %w", err)
	}
	if x.tier.Closed() {
		return nil, fmt.Errorf("live program: %w", ErrClosed)
	}
	if r.Image.files != nil {
		res := x.resolved(&id, r.Image)
		if res == nil {
			return nil, nil
		}
		id = res.program()
	}
	return x.hit(&id, r.Image.serial), nil
}

// Stored returns the artifact that the stores have of a request for one device,
// by its ordinal in the context. It makes no program of it, builds nothing and
// waits for nobody. An error wraps store.ErrNotFound, ErrNotCacheable, ErrInvalid
// or ErrClosed. It is for those who build by themselves; an image that reads
// header files is not cacheable this way.
func (x *Context[P, K]) Stored(ctx context.Context, r Request, device int) (*store.Artifact, error) {
	a, err := x.stored(ctx, r, device)
	if err != nil {
		return nil, fmt.Errorf("stored artifact: %w", err)
	}
	return a, nil
}

func (x *Context[P, K]) stored(ctx context.Context, r Request, device int) (*store.Artifact, error) {
	if !x.tier.Enter() {
		return nil, ErrClosed
	}
	defer x.tier.Leave()
	c := x.cache
	defer c.keepStatsNowAndThen()
	_, k, err := x.cacheable(r, device)
	if err != nil {
		return nil, err
	}
	if c.settings.Mode == settings.ModeRefresh {
		c.countMiss(reason.MissRefresh)
		return nil, missed(reason.MissRefresh)
	}
	start := time.Now()
	entry, _, why := c.find(ctx, k)
	took := time.Since(start)
	if entry == nil {
		c.countMiss(why)
		return nil, missed(why)
	}
	if c.settings.Mode == settings.ModeObserve {
		c.stats.Add(stats.Of(reason.ObserveHits), 1)
		return nil, missed(reason.MissAbsent)
	}
	a := entry.Artifact
	c.stats.Add(stats.DiskHits, 1)
	c.stats.Add(stats.LoadTime, int64(took))
	c.stats.Add(stats.SavedTime, int64(a.Cost-took))
	on(c.trace.disk, func(l *slog.Logger) {
		l.Debug("hit", "key", k.Short(), "bytes", a.Size(), "load", took, "saved", a.Cost-took)
	})
	return a, nil
}

func missed(why reason.Reason) error { return &store.MissError{Reason: why} }

// Store keeps an artifact that the caller built of a request for one device, and
// returns when it is stored. As good an artifact that is there stays; see
// store.Store. In mode observe nothing is written over: it is compared. An error
// wraps ErrNotCacheable, ErrInvalid, ErrClosed, or says why it could not be stored.
func (x *Context[P, K]) Store(ctx context.Context, r Request, device int, a *store.Artifact) (store.PutResult, error) {
	result, err := x.store(ctx, r, device, a)
	if err != nil {
		return store.Failed, fmt.Errorf("store artifact: %w", err)
	}
	return result, nil
}

func (x *Context[P, K]) store(ctx context.Context, r Request, device int, a *store.Artifact) (store.PutResult, error) {
	if !x.tier.Enter() {
		return store.Failed, ErrClosed
	}
	defer x.tier.Leave()
	c := x.cache
	defer c.keepStatsNowAndThen()
	recipe, k, err := x.cacheable(r, device)
	if err != nil {
		return store.Failed, err
	}
	if !c.writes() {
		return store.Failed, errReadOnly
	}
	if a.Cost < c.settings.MinBuildTime {
		x.count(stats.Of(reason.NotCacheableCheap))
		return store.Failed, fmt.Errorf("built in %v: %w", a.Cost, ErrNotCacheable)
	}
	e := newEntry(k, recipe, a, a.Cost)
	there, _, why := c.find(ctx, k)
	if there != nil && c.settings.Mode == settings.ModeObserve {
		x.observe(k, compare(a, there.Artifact))
		return store.Existing, nil
	}
	if why == reason.MissAbsent {
		c.storer.explain(ctx, storing{entry: e})
	}
	return c.storer.put(ctx, e)
}

// observe counts what comparing with a stored artifact said.
func (x *Context[P, K]) observe(k key.Key, v verdict) {
	switch v {
	case equal:
		x.count(stats.ObserveEqual)
	case different:
		x.count(stats.ObserveDifferent)
	}
	on(x.cache.trace.disk, func(l *slog.Logger) { l.Info("observed", "key", k.Short(), "verdict", string(v)) })
}

// Refuse says that a driver did not take the artifact that Stored returned, or
// that a program was loaded from: the entry goes, and the program with it.
func (x *Context[P, K]) Refuse(ctx context.Context, r Request, device int) error {
	if !x.tier.Enter() {
		return fmt.Errorf("refuse artifact: %w", ErrClosed)
	}
	defer x.tier.Leave()
	_, k, err := x.cacheable(r, device)
	if err != nil {
		return fmt.Errorf("refuse artifact: %w", err)
	}
	x.count(stats.Corrupt)
	x.cache.trace.warn("artifact refused by the driver", "key", k.Short())
	if p, err := x.Live(r); err == nil && p != nil {
		x.tier.Drop(p.live())
		p.Release()
	}
	if x.cache.written != nil {
		x.cache.discard(ctx, x.cache.written, k)
	}
	return nil
}

// cacheable returns what a request means for a device, or why it is not cached.
func (x *Context[P, K]) cacheable(r Request, device int) (*key.Recipe, key.Key, error) {
	if _, err := r.id(x.rt.Devices()); err != nil {
		return nil, key.Key{}, err
	}
	if device < 0 || device >= x.rt.Devices() {
		return nil, key.Key{}, fmt.Errorf("%w: device %d", ErrInvalid, device)
	}
	recipe, against, err := x.recipe([]int{device}, r, nil)
	switch {
	case err != nil:
		return nil, key.Key{}, err
	case !against.None():
		x.count(stats.Of(against.Code))
		return nil, key.Key{}, fmt.Errorf("%w: %s", ErrNotCacheable, against)
	case r.Image.files != nil:
		x.count(stats.Of(reason.NotCacheableHeaders))
		return nil, key.Key{}, fmt.Errorf("%w: it reads header files", ErrNotCacheable)
	}
	k := recipe.Key()
	x.cache.traceKey(k, recipe)
	return recipe, k, nil
}
