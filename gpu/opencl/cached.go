package opencl

import (
	"context"
	"errors"
	"slices"

	"github.com/kernstash/kernstash"
)

// Cached is a Context whose programs come from a cache: from memory, else from
// disk, else from the compiler.
//
// On a driver that makes code at launches (PoCL) kernels are to be launched
// through this package, on its queues: code is captured while none of them is
// busy, and a launch behind this package's back at that moment can make the
// driver abort.
type Cached struct {
	*Context
	core *kernstash.Context[*Program, *Kernel]
	own  bool // the Context goes with it
}

// CachedOptions configure NewCached; the zero value is right for nearly all.
type CachedOptions struct {
	Runtime RuntimeOptions
	Context kernstash.ContextOptions
}

// NewContext opens a context on devices of one platform, and puts cache before
// its compiler. The caller closes it, before the cache.
func NewContext(cache *kernstash.Cache, devices ...*Device) (*Cached, error) {
	return NewContextWith(cache, CachedOptions{}, devices...)
}

// NewContextWith is NewContext with options.
func NewContextWith(cache *kernstash.Cache, o CachedOptions, devices ...*Device) (*Cached, error) {
	c, err := Open(devices...)
	if err != nil {
		return nil, err
	}
	x := NewCached(cache, c, o)
	x.own = true
	return x, nil
}

// NewCached puts cache before the compiler of a context that the caller has
// opened or adopted, and releases after closing what this returns.
func NewCached(cache *kernstash.Cache, c *Context, o CachedOptions) *Cached {
	return &Cached{Context: c, core: kernstash.NewContext(cache, NewRuntime(c, o.Runtime), o.Context)}
}

// Core returns the memory tier, for its limits.
func (x *Cached) Core() *kernstash.Context[*Program, *Kernel] { return x.core }

// Program returns the program of a request, counted: the caller releases it.
// What the compiler refuses is a *kernstash.BuildError, equal for all who ask.
func (x *Cached) Program(ctx context.Context, r kernstash.Request) (*CachedProgram, error) {
	p, err := x.core.Program(ctx, x.meant(r))
	if err != nil {
		return nil, err
	}
	return (*CachedProgram)(p), nil
}

// Kernel returns a kernel of the program of a request, on the request's first
// device. It holds the program; the caller releases it.
func (x *Cached) Kernel(ctx context.Context, r kernstash.Request, name string) (*CachedKernel, error) {
	k, err := x.core.Kernel(ctx, x.meant(r), name)
	if err != nil {
		return nil, err
	}
	return (*CachedKernel)(k), nil
}

// Preload builds or loads many programs in parallel and leaves them in memory.
func (x *Cached) Preload(ctx context.Context, r ...kernstash.Request) error {
	meant := make([]kernstash.Request, len(r))
	for i := range r {
		meant[i] = x.meant(r[i])
	}
	return x.core.Preload(ctx, meant...)
}

// meant returns a request without a difference that no driver of the context
// makes, so that its key is that of the same request by another front end.
func (x *Cached) meant(r kernstash.Request) kernstash.Request {
	r.NoOptions = r.NoOptions && slices.ContainsFunc(x.Context.devices, (*Device).TellsNoOptions)
	return r
}

// Close waits for builds in flight, captures what launches have made, and
// releases all programs and kernels, held or not; what is queued on the
// context's queues is to be finished before. A context that NewContext opened
// is released with it.
func (x *Cached) Close() error {
	err := x.core.Close()
	if x.own {
		err = errors.Join(err, x.Context.Release())
	}
	return err
}
