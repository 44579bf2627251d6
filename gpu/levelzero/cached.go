package levelzero

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash"
)

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
	p, err := x.core.Program(ctx, meant(r))
	if err != nil {
		return nil, err
	}
	return (*CachedProgram)(p), nil
}

// Kernel returns a kernel of the program of a request. It holds the program; the
// caller releases it.
func (x *Cached) Kernel(ctx context.Context, r kernstash.Request, name string) (*CachedKernel, error) {
	k, err := x.core.Kernel(ctx, meant(r), name)
	if err != nil {
		return nil, err
	}
	return (*CachedKernel)(k), nil
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

// CachedProgram is a program that a cache holds, for some of its context's devices.
type CachedProgram coreProgram

func (p *CachedProgram) core() *coreProgram { return (*coreProgram)(p) }

// Kernel returns the kernel of a name on the program's first device, and on those that
// are equal to it. It holds the program; the caller releases it.
func (p *CachedProgram) Kernel(ctx context.Context, name string) (*CachedKernel, error) {
	k, err := p.core().Kernel(ctx, name)
	return (*CachedKernel)(k), err
}

// KernelOn returns the kernel of a name on a device, by its ordinal in the context.
func (p *CachedProgram) KernelOn(ctx context.Context, device int, name string) (*CachedKernel, error) {
	k, err := p.core().KernelOn(ctx, device, name)
	return (*CachedKernel)(k), err
}

// Native returns what holds the driver's modules for a device, by its ordinal in the
// context. It must not be used after Release.
func (p *CachedProgram) Native(device int) (*Program, error) { return p.core().Native(device) }

// Origin says where the program came from.
func (p *CachedProgram) Origin() kernstash.Origin { return p.core().Origin() }

// Against says why the program is not stored; empty if nothing is against it.
func (p *CachedProgram) Against() string { return p.core().Against() }

// Release ends one use of the program.
func (p *CachedProgram) Release() { p.core().Release() }

// CachedKernel is a kernel of a CachedProgram. Goroutines that ask for the same kernel
// share the driver's one, and their launches follow each other.
type CachedKernel coreKernel

func (k *CachedKernel) core() *coreKernel { return (*coreKernel)(k) }

// Launch is Kernel.Launch, on the list's device.
func (k *CachedKernel) Launch(l *List, items [3]int, args ...any) error {
	one, err := k.On(l.device)
	if err != nil {
		return err
	}
	return one.Launch(l, items, args...)
}

// LaunchRange is Kernel.LaunchRange, on the list's device.
func (k *CachedKernel) LaunchRange(l *List, r Range, args ...any) error {
	one, err := k.On(l.device)
	if err != nil {
		return err
	}
	return one.LaunchRange(l, r, args...)
}

// On returns the driver's kernel on a device. It must not be released, nor used after
// Release.
func (k *CachedKernel) On(d *Device) (*Kernel, error) { return k.core().Native().on(d) }

// Name returns the kernel's name.
func (k *CachedKernel) Name() string { return k.core().Name() }

// Release ends one use of the kernel, and of its program with it.
func (k *CachedKernel) Release() { k.core().Release() }
