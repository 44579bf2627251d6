package kernstash

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/store"
)

// source makes the program of a request: it drives a transaction of the engine.
type source[P, K any] struct {
	x   *Context[P, K]
	id  live.ID
	r   engine.Request
	res *engine.Resolution // nil for an image that reads no files

	mu     sync.Mutex
	groups []*engine.Group
	err    error // of what the request means
}

// Parts returns a part for each distinct identity among the devices. A program that
// reads what no key holds is shared by those alone who have this very image.
func (s *source[P, K]) Parts(id live.ID) (parts []live.Part, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.x.session.BeginResolved(engine.ID(id), s.r, s.res)
	if s.err = err; err != nil {
		return []live.Part{{What: id.What, Devices: []int{bits.TrailingZeros64(id.Devices)}}}, false
	}
	s.groups = t.Groups()
	for _, g := range s.groups {
		parts = append(parts, live.Part{What: g.What(), Devices: g.Job().Devices})
	}
	return parts, t.Exclusive()
}

// group returns the sub-transaction of a part. It may be asked for again.
func (s *source[P, K]) group(part int) (*engine.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	g := s.groups[part]
	s.groups[part] = g.Renew()
	return g, nil
}

func (s *source[P, K]) Make(ctx context.Context, u *live.Unit[P, K, *unit[P, K]], part int) error {
	defer s.x.cache.KeepStatsSometimes()
	g, err := s.group(part)
	if err != nil {
		return err
	}
	u.Info = &unit[P, K]{x: s.x, live: u, group: g}
	err = g.Drive(ctx,
		func(a *store.Artifact) (bool, error) { return s.x.load(ctx, u.Info, a) },
		func() error { return s.x.build(ctx, u.Info) })
	if g.Exclusive() {
		u.Own(s.r.Image.Serial())
	}
	return err
}

// Own returns the id of the image's own program: the one that was found is of an
// image that looks like it, and may be another.
func (s *source[P, K]) Own() live.ID {
	if s.res == nil {
		return live.ID(engine.ID(s.id).Exclusive(s.r.Image))
	}
	return live.ID(s.res.MakeExclusive())
}

// load makes the live program from an artifact, while no capture begins; false: the driver
// refuses that.
func (x *Context[P, K]) load(ctx context.Context, u *unit[P, K], a *store.Artifact) (bool, error) {
	x.captures.busy(+1)
	defer x.captures.busy(-1)
	start := time.Now()
	native, err := x.rt.Load(ctx, Job(u.group.Job()), a)
	took := time.Since(start)
	switch {
	case err == nil:
	case errors.Is(err, ErrOutOfResources) || errors.Is(err, ErrAbandoned):
		return false, err
	case ctx.Err() != nil:
		return false, context.Cause(ctx) // says nothing about the artifact
	default:
		u.group.Rejected(ctx, err)
		return false, nil
	}
	u.origin = Disk
	u.live.Publish(native, a.Size())
	u.group.Loaded(took)
	x.captures.made(u, a.Variants)
	return true, nil
}

// build makes the live program from the recipe, and sees that its artifact is
// stored, now or after a launch. No capture begins meanwhile.
func (x *Context[P, K]) build(ctx context.Context, u *unit[P, K]) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.captures.busy(+1)
	defer x.captures.busy(-1)
	job := Job(u.group.Job())
	start := time.Now()
	native, artifact, err := x.rt.Build(ctx, job)
	o := engine.Outcome{Artifact: artifact, Took: time.Since(start)}
	var unfit *UnfitError
	switch {
	case errors.Is(err, ErrAbandoned):
		return err
	case errors.As(err, &unfit):
		o.Artifact, o.Unfit = nil, cmp.Or(unfit.Why, ErrNotCacheable.Error())
	case err != nil:
		u.group.Failed(err, o.Took)
		return err
	}
	if named, ok := any(native).(interface{ KernelNames() ([]string, error) }); ok && artifact == nil {
		o.Kernels, _ = named.KernelNames() // without them people know it by its size
	}
	bytes := job.Recipe.Image.Size()
	if o.Artifact != nil {
		bytes = o.Artifact.Size()
	}
	u.origin = Compiled
	u.live.Publish(native, bytes)
	u.group.Built(o)
	x.captures.made(u, nil)
	return nil
}

// resolve finds what a request for an image that reads header files means. They are
// looked at in a goroutine: whoever gives up need not wait for a file system.
func (x *Context[P, K]) resolve(ctx context.Context, id live.ID, r engine.Request) (*engine.Resolution, error) {
	var search flight.Result
	var res *engine.Resolution
	_, err := search.Do(ctx, flight.Hooks{Build: func(context.Context) (err error) {
		if !x.tier.Enter() {
			return ErrClosed
		}
		defer x.tier.Leave()
		res, err = x.session.Resolve(engine.ID(id), r)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return res, nil
}
