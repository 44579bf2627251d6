package cuda

import (
	"context"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// coreContext, coreProgram and coreKernel are a memory tier's. A CachedProgram is
// one, under a name that has methods of its own: a hit allocates nothing.
type (
	coreContext = kernstash.Context[*Module, *Kernel]
	coreProgram = kernstash.Program[*Module, *Kernel]
	coreKernel  = kernstash.Kernel[*Module, *Kernel]
)

// CachedProgram is a program that a cache holds.
type CachedProgram coreProgram

func (p *CachedProgram) core() *coreProgram { return (*coreProgram)(p) }

// Kernel returns the kernel of a name, or of a name expression of the request. It
// holds the program; the caller releases it.
func (p *CachedProgram) Kernel(ctx context.Context, name string) (*CachedKernel, error) {
	k, err := p.core().Kernel(ctx, name)
	return (*CachedKernel)(k), err
}

// Native returns the program's module. It must not be released, nor used after
// Release.
func (p *CachedProgram) Native() (*Module, error) { return p.core().Native(0) }

// Key returns the key of the program; the zero Key if it cannot be cached.
func (p *CachedProgram) Key() key.Key { return p.core().Key(0) }

// Origin says where the program came from. Of CUDA C++ for a virtual architecture
// it says so of NVRTC's work; Linked says it of the driver's.
func (p *CachedProgram) Origin() kernstash.Origin { return p.core().Origin() }

// Linked returns the program that the driver's compiler made of NVRTC's PTX: its
// key and origin are that step's. Nil where there was no such step. It must not be
// released, nor used after Release.
func (p *CachedProgram) Linked() *CachedProgram {
	m, err := p.Native()
	if err != nil {
		return nil
	}
	return (*CachedProgram)(m.linked)
}

// Against says why the program is not stored; empty if nothing is against it.
func (p *CachedProgram) Against() string { return p.core().Against() }

// Release ends one use of the program.
func (p *CachedProgram) Release() { p.core().Release() }

// CachedKernel is a kernel of a CachedProgram. Goroutines may share it.
type CachedKernel coreKernel

func (k *CachedKernel) core() *coreKernel { return (*coreKernel)(k) }

// Launch is Kernel.Launch.
func (k *CachedKernel) Launch(s *Stream, grid, block []int, args ...any) error {
	return k.core().Native().Launch(s, grid, block, args...)
}

// LaunchShape is Kernel.LaunchShape.
func (k *CachedKernel) LaunchShape(s *Stream, shape Shape, args ...any) error {
	return k.core().Native().LaunchShape(s, shape, args...)
}

// Native returns the kernel. It must not be used after Release.
func (k *CachedKernel) Native() *Kernel { return k.core().Native() }

// Name returns the name by which the kernel was asked for.
func (k *CachedKernel) Name() string { return k.core().Name() }

// Release ends one use of the kernel, and of its program with it.
func (k *CachedKernel) Release() { k.core().Release() }
