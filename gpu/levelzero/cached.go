package levelzero

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash"
)

// CachedProgram is a program that a cache holds, for some of its context's devices. Its Kernel
// is that of a name on the first of them, and on those that are equal to it.
type CachedProgram = kernstash.Program[*Program, *Kernels]

// CachedKernel is a kernel of a CachedProgram. Goroutines that ask for the same kernel
// share the driver's one, and their launches follow each other.
type CachedKernel = kernstash.Kernel[*Program, *Kernels]

// Cached is a Context whose programs come from a cache: from memory, else from disk,
// else from the compiler.
type Cached struct {
	*Context
	core *kernstash.Context[*Program, *Kernels]
	own  bool // the Context goes with it
}

// NewContext opens a context on devices of one driver, and puts cache before its
// compiler. The caller closes it, before the cache.
func NewContext(cache *kernstash.Cache, devices ...*Device) (*Cached, error) {
	c, err := Open(devices...)
	if err != nil {
		return nil, err
	}
	x := NewCached(cache, c, kernstash.ContextOptions{})
	x.own = true
	return x, nil
}

// NewCached puts cache before the compiler of a context that the caller has opened or
// adopted, and releases after closing what this returns.
func NewCached(cache *kernstash.Cache, c *Context, o kernstash.ContextOptions) *Cached {
	return &Cached{Context: c, core: kernstash.NewContext(cache, NewRuntime(c), o)}
}

// SetLimits bounds what the memory tier keeps; see kernstash.Context.SetLimits.
func (x *Cached) SetLimits(bytes int64, programs int) error { return x.core.SetLimits(bytes, programs) }

// Program returns the program of a request, counted: the caller releases it. What the
// compiler refuses is a *kernstash.BuildError, equal for all who ask. Modules that
// import are not to be linked: others may hold the same one. Make these with NewModule.
func (x *Cached) Program(ctx context.Context, r kernstash.Request) (*CachedProgram, error) {
	return x.core.Program(ctx, meant(r))
}

// Kernel returns a kernel of the program of a request. It holds the program; the
// caller releases it.
func (x *Cached) Kernel(ctx context.Context, r kernstash.Request, name string) (*CachedKernel, error) {
	return x.core.Kernel(ctx, meant(r), name)
}

// Preload builds or loads many programs in parallel and leaves them in memory.
func (x *Cached) Preload(ctx context.Context, r ...kernstash.Request) error {
	all := make([]kernstash.Request, len(r))
	for i := range r {
		all[i] = meant(r[i])
	}
	return x.core.Preload(ctx, all...)
}

// meant returns a request without a difference that no driver makes: no flags are empty
// flags to them.
func meant(r kernstash.Request) kernstash.Request {
	r.NoOptions = false
	return r
}

// Close waits for builds in flight, and releases all programs and kernels, held or not.
// A context that NewContext opened is released with it.
func (x *Cached) Close() error {
	err := x.core.Close()
	if x.own {
		err = errors.Join(err, x.Context.Release())
	}
	return err
}
