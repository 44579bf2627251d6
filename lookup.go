package kernstash

import (
	"context"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Live returns the program of a request if it is in memory, counted: call
// Release when done. Nil: it is not. It builds nothing and waits for nobody.
func (x *Context[P, K]) Live(r Request) (*Program[P, K], error) {
	own := r.engine()
	id, err := x.session.ID(&own)
	if err != nil {
		return nil, fmt.Errorf("live program: %w", err)
	}
	if x.tier.Closed() {
		return nil, fmt.Errorf("live program: %w", ErrClosed)
	}
	if own.Image.ReadsFiles() {
		res := x.session.Resolved(&id, own.Image)
		if res == nil {
			return nil, nil
		}
		id = res.ID()
	}
	return x.hit((*live.ID)(&id), own.Image.Serial()), nil
}

// Stored returns the artifact that the stores have of a request for one device,
// by its ordinal in the context. It makes no program of it, builds nothing and
// waits for nobody. An error wraps store.ErrNotFound, ErrNotCacheable, ErrInvalid
// or ErrClosed. It is for those who build by themselves; an image that reads
// header files is not cacheable this way.
func (x *Context[P, K]) Stored(ctx context.Context, r Request, device int) (a *store.Artifact, err error) {
	err = x.on(r, device, func(g *engine.Group) (err error) {
		a, err = g.Stored(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stored artifact: %w", err)
	}
	return a, nil
}

// Store keeps an artifact that the caller built of a request for one device, and
// returns when it is stored. As good an artifact that is there stays; see
// store.Store. In mode observe nothing is written over: it is compared. An error
// wraps ErrNotCacheable, ErrInvalid, ErrClosed, or says why it could not be stored.
func (x *Context[P, K]) Store(ctx context.Context, r Request, device int, a *store.Artifact) (result store.PutResult, err error) {
	err = x.on(r, device, func(g *engine.Group) (err error) {
		result, err = g.Store(ctx, a)
		return err
	})
	if err != nil {
		return store.Failed, fmt.Errorf("store artifact: %w", err)
	}
	return result, nil
}

// Refuse says that a driver did not take the artifact that Stored returned, or
// that a program was loaded from: the entry goes, and the program with it.
func (x *Context[P, K]) Refuse(ctx context.Context, r Request, device int) error {
	err := x.on(r, device, func(g *engine.Group) error {
		if p, err := x.Live(r); err == nil && p != nil {
			x.tier.Drop(p.live())
			p.Release()
		}
		g.Refuse(ctx)
		return nil
	})
	if err != nil {
		return fmt.Errorf("refuse artifact: %w", err)
	}
	return nil
}

// on calls f with what a request means for one device.
func (x *Context[P, K]) on(r Request, device int, f func(*engine.Group) error) error {
	if !x.tier.Enter() {
		return ErrClosed
	}
	defer x.tier.Leave()
	defer x.cache.KeepStatsSometimes()
	g, err := x.session.BeginOn(r.engine(), device)
	if err != nil {
		return err
	}
	return f(g)
}

// Found is a stored artifact of a request for one group of equal devices.
type Found struct {
	Job      Job
	Artifact *store.Artifact
}

// Glance returns what the stores have of a request, one artifact for each group
// of equal devices, if they have all of them and it can be told without waiting
// for anything but the disk: none for images that read header files which are not
// known, or not what they were, and in the modes that serve nothing. It makes no
// programs and counts no hits; who restores them says so with Restored. With none,
// ask with Program.
func (x *Context[P, K]) Glance(ctx context.Context, r Request) (all []Found) {
	if !x.tier.Enter() {
		return nil
	}
	defer x.tier.Leave()
	for _, f := range x.session.Glance(ctx, r.engine(), false) {
		all = append(all, Found{Job(f.Job), f.Artifact})
	}
	return all
}

// Restored counts a program that was made of an artifact that Glance returned, and
// tells who wants to be told. took is the time from the one to the other.
func (x *Context[P, K]) Restored(f Found, took time.Duration) {
	defer x.cache.KeepStatsSometimes()
	x.cache.Count(stats.MemoryMisses, 1)
	x.session.Restored(engine.Found{Job: engine.Job(f.Job), Artifact: f.Artifact}, took)
}
