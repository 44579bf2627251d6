package opencl

import (
	"context"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// coreProgram and coreKernel are the memory tier's. A CachedProgram is one,
// under a name that has methods of its own: a hit allocates nothing.
type (
	coreProgram = kernstash.Program[*Program, *Kernel]
	coreKernel  = kernstash.Kernel[*Program, *Kernel]
)

// CachedProgram is a program that a cache holds, for some of its context's
// devices.
type CachedProgram coreProgram

func (p *CachedProgram) core() *coreProgram { return (*coreProgram)(p) }

// Kernel returns the kernel of a name on the program's first device. It holds
// the program; the caller releases it.
func (p *CachedProgram) Kernel(ctx context.Context, name string) (*CachedKernel, error) {
	k, err := p.core().Kernel(ctx, name)
	return (*CachedKernel)(k), err
}

// KernelOn returns the kernel of a name on a device, by its ordinal in the
// context.
func (p *CachedProgram) KernelOn(ctx context.Context, device int, name string) (*CachedKernel, error) {
	k, err := p.core().KernelOn(ctx, device, name)
	return (*CachedKernel)(k), err
}

// Native returns the driver's program for a device, by its ordinal in the
// context. It must not be released, nor used after Release.
func (p *CachedProgram) Native(device int) (*Program, error) { return p.core().Native(device) }

// Origin says where the program came from.
func (p *CachedProgram) Origin() kernstash.Origin { return p.core().Origin() }

// Against says why the program is not stored; empty if nothing is against it.
func (p *CachedProgram) Against() string { return p.core().Against() }

// Release ends one use of the program.
func (p *CachedProgram) Release() { p.core().Release() }

// CachedKernel is a kernel of a CachedProgram, for one device. Goroutines that
// ask for the same kernel share the driver's one, and their launches follow
// each other.
type CachedKernel coreKernel

func (k *CachedKernel) core() *coreKernel { return (*coreKernel)(k) }

// Launch is Kernel.Launch; the cache learns of launches that a deferring
// driver made new code for.
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
