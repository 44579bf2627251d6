package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// What is here is for callers that do not take the whole way: that build by themselves.

// ErrNotCacheable says that there is nothing wrong, but nothing to store.
var ErrNotCacheable = errors.New("not cacheable")

// ErrReadOnly is wrapped where there is no store to write to.
var ErrReadOnly = errors.New("the disk tier is off, or not written")

// BeginOn begins the transaction of a request for one device alone. A request that is
// not cacheable, or reads header files, is an error.
func (s *Session) BeginOn(r Request, device int) (*Group, error) {
	id, err := s.ID(&r)
	if err != nil {
		return nil, err
	}
	if device < 0 || device >= s.host.Devices() {
		return nil, fmt.Errorf("%w: device %d", ErrInvalid, device)
	}
	devices := []int{device}
	m, err := s.mean(devices, r)
	if err != nil {
		return nil, err
	}
	if m.uncacheable.None() && r.Image.files != nil {
		m.uncacheable = againstHeaders("it reads header files")
	}
	if why := m.uncacheable; !why.None() {
		s.e.count(stats.Of(why.Code))
		return nil, fmt.Errorf("%w: %s", ErrNotCacheable, why)
	}
	g := s.newGroup(id, devices, m, nil)
	s.e.traceKey(g.job.Key, g.job.Recipe)
	return g, nil
}

// Stored returns the artifact that the stores have, and counts that as a hit. An error
// wraps store.ErrNotFound.
func (g *Group) Stored(ctx context.Context) (*store.Artifact, error) {
	e, k := g.s.e, g.Job().Key
	if e.settings.Mode == settings.ModeRefresh {
		e.countMiss(reason.MissRefresh)
		return nil, &store.MissError{Reason: reason.MissRefresh}
	}
	start := time.Now()
	f := e.find(ctx, k, nil)
	took := time.Since(start)
	if f.entry == nil {
		e.countMiss(f.why)
		return nil, &store.MissError{Reason: f.why}
	}
	if e.settings.Mode == settings.ModeObserve {
		e.count(stats.Of(reason.ObserveHits))
		return nil, &store.MissError{Reason: reason.MissAbsent}
	}
	a := f.entry.Artifact
	e.countHit(k, a, took)
	g.Record(Decision{Key: k, Origin: Disk, Spent: took, Saved: a.Cost - took, Kernels: kernelNames(a)})
	return a, nil
}

// Record hands what became of a lookup to the records of what applications use; Stored and Store do it for hits and for
// what is stored.
func (g *Group) Record(d Decision) {
	if recorded := g.s.e.recorded; recorded != nil {
		d.Recipe = g.Job().Recipe
		recorded(&d)
	}
}

// Store keeps an artifact that the caller built, and returns when it is stored, and in what the nearest entry
// differs; "": that was not looked for. In mode observe nothing is written over: it is compared.
func (g *Group) Store(ctx context.Context, a *store.Artifact) (res store.PutResult, nearest string, err error) {
	e, job := g.s.e, g.Job()
	if !e.Writes() {
		return store.Failed, "", ErrReadOnly
	}
	if a.Cost < e.settings.MinBuildTime {
		e.count(stats.Of(reason.NotCacheableCheap))
		return store.Failed, "", fmt.Errorf("built in %v: %w", a.Cost, ErrNotCacheable)
	}
	entry := newEntry(job.Key, job.Recipe, a, a.Cost)
	there := e.find(ctx, job.Key, nil)
	if there.entry != nil && e.settings.Mode == settings.ModeObserve {
		e.countCompared(job.Key, job.Key.Short(), compare(a, there.entry.Artifact))
		return store.Existing, "", nil
	}
	built := Decision{Key: job.Key, Origin: Compiled, Spent: a.Cost, Reason: reason.MissAbsent.String(), Kernels: kernelNames(a)}
	if e.settings.Mode == settings.ModeRefresh {
		built.Reason = reason.MissRefresh.String()
	}
	if nowhere(there.why) {
		built.Nearest = e.keeper.Explain(ctx, job.Key, job.Recipe)
	}
	g.Record(built)
	res, err = e.keeper.Put(ctx, entry)
	return res, built.Nearest, err
}

// Refuse says that the driver did not take the artifact that Stored returned, or that a
// program was loaded from: the entry goes.
func (g *Group) Refuse(ctx context.Context) {
	e, k := g.s.e, g.Job().Key
	e.count(stats.Corrupt)
	e.warn("artifact refused by the driver", "key", k.Short())
	if e.store != nil {
		e.discard(ctx, e.store, k)
	}
}
