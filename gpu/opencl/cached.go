package opencl

import (
	"context"
	"errors"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// Cached is a Context whose programs come from a cache: from memory, else from
// disk, else from the compiler.
//
// On a driver that makes code at launches (PoCL) kernels are to be launched through this package,
// on its queues: code is captured while none of them is busy, and a launch behind this package's
// back at that moment can make the driver abort.
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
	p, err := x.core.Program(ctx, x.normalize(r))
	if err != nil {
		return nil, err
	}
	return (*CachedProgram)(p), nil
}

// Kernel returns a kernel of the program of a request, on the request's first
// device. It holds the program; the caller releases it.
func (x *Cached) Kernel(ctx context.Context, r kernstash.Request, name string) (*CachedKernel, error) {
	k, err := x.core.Kernel(ctx, x.normalize(r), name)
	if err != nil {
		return nil, err
	}
	return (*CachedKernel)(k), nil
}

// Preload builds or loads many programs in parallel and leaves them in memory.
func (x *Cached) Preload(ctx context.Context, r ...kernstash.Request) error {
	meant := make([]kernstash.Request, len(r))
	for i := range r {
		meant[i] = x.normalize(r[i])
	}
	return x.core.Preload(ctx, meant...)
}

// normalize returns a request without a difference that no driver of the context
// makes, so that its key is that of the same request by another front end.
func (x *Cached) normalize(r kernstash.Request) kernstash.Request {
	r.NoOptions = r.NoOptions && slices.ContainsFunc(x.Context.devices, (*Device).TellsNoOptions)
	return r
}

// Close waits for builds in flight, captures what launches have made, and releases all programs and
// kernels, held or not; what is queued on the context's queues is to be finished before. A context
// that NewContext opened is released with it.
func (x *Cached) Close() error {
	err := x.core.Close()
	if x.own {
		err = errors.Join(err, x.Context.Release())
	}
	return err
}

// coreProgram and coreKernel are the memory tier's. A CachedProgram is one,
// under a name that has methods of its own: a hit allocates nothing.
type (
	coreProgram = kernstash.Program[*Program, *Kernel]
	coreKernel  = kernstash.Kernel[*Program, *Kernel]
)

// CachedProgram is a program that a cache holds, for some of its context's devices.
type CachedProgram coreProgram

func (p *CachedProgram) core() *coreProgram { return (*coreProgram)(p) }

// Kernel returns the kernel of a name on the program's first device. It holds
// the program; the caller releases it.
func (p *CachedProgram) Kernel(ctx context.Context, name string) (*CachedKernel, error) {
	k, err := p.core().Kernel(ctx, name)
	return (*CachedKernel)(k), err
}

// KernelOn returns the kernel of a name on a device, by its ordinal in the context.
func (p *CachedProgram) KernelOn(ctx context.Context, device int, name string) (*CachedKernel, error) {
	k, err := p.core().KernelOn(ctx, device, name)
	return (*CachedKernel)(k), err
}

// Native returns the driver's program for a device, by its ordinal in the
// context. It must not be released, nor used after Release.
func (p *CachedProgram) Native(device int) (*Program, error) { return p.core().Native(device) }

// Origin says where the program came from.
func (p *CachedProgram) Origin() kernstash.Origin { return p.core().Origin() }

// UncacheableReason returns why the program is not stored; empty if it may be.
func (p *CachedProgram) UncacheableReason() string { return p.core().UncacheableReason() }

// Release ends one use of the program.
func (p *CachedProgram) Release() { p.core().Release() }

// CachedKernel is a kernel of a CachedProgram, for one device. Goroutines that ask for the same
// kernel share the driver's one, and their launches follow each other.
type CachedKernel coreKernel

func (k *CachedKernel) core() *coreKernel { return (*coreKernel)(k) }

// Launch is Kernel.Launch; the cache learns of launches that a deferring driver made new code for.
func (k *CachedKernel) Launch(q *Queue, global, local []int, args ...any) error {
	return k.launch(q, Range{Global: global, Local: local}, nil, args)
}

// LaunchRange is Kernel.LaunchRange; the caller releases the event.
func (k *CachedKernel) LaunchRange(q *Queue, r Range, args ...any) (*Event, error) {
	id := new(cl.EventID)
	if err := k.launch(q, r, id, args); err != nil {
		return nil, err
	}
	return newEvent(*id), nil
}

func (k *CachedKernel) launch(q *Queue, r Range, event *cl.EventID, args []any) error {
	variant, err := k.core().Native().enqueue(q, r, event, args)
	if err != nil {
		return err
	}
	if variant != "" {
		k.core().Program().Launched(k.core().Device(), variant)
	}
	return nil
}

// Native returns the driver's kernel. It must not be released, nor used after
// Release. Launches of it are not told to the cache.
func (k *CachedKernel) Native() *Kernel { return k.core().Native() }

// Name returns the kernel's name.
func (k *CachedKernel) Name() string { return k.core().Name() }

// Device returns the ordinal of the kernel's device in the context.
func (k *CachedKernel) Device() int { return k.core().Device() }

// Release ends one use of the kernel, and of its program with it.
func (k *CachedKernel) Release() { k.core().Release() }
