package kernstash

import (
	"context"
	"fmt"
	"maps"
)

// Kernel is a live kernel of a Program, for one device. It holds its program;
// call Release when done. Goroutines that ask for the same kernel share one.
type Kernel[P, K any] struct {
	program *Program[P, K]
	native  K
	device  int
	name    string
}

// Native returns the runtime's kernel. It is the Kernel's: it must not be
// released, nor used after Release.
func (k *Kernel[P, K]) Native() K { return k.native }

// Name returns the kernel's name.
func (k *Kernel[P, K]) Name() string { return k.name }

// Program returns the program that the kernel belongs to, without a use of its
// own.
func (k *Kernel[P, K]) Program() *Program[P, K] { return k.program }

// Device returns the ordinal of the device that the kernel was asked for.
func (k *Kernel[P, K]) Device() int { return k.device }

// Release ends one use of the kernel, and of its program with it.
func (k *Kernel[P, K]) Release() { k.program.Release() }

// Kernel returns the kernel of a name, on the program's first device. A kernel
// that is there already is found without a lock or an allocation. An error is
// the runtime's: there is no such kernel.
func (p *Program[P, K]) Kernel(ctx context.Context, name string) (*Kernel[P, K], error) {
	if p.x.closed.Load() {
		return nil, fmt.Errorf("kernel %s: %w", name, ErrClosed)
	}
	if all := p.kernels.Load(); all != nil {
		if k, ok := (*all)[name]; ok {
			p.refs.Retain()
			return k, nil
		}
	}
	return p.KernelOn(ctx, p.first, name)
}

// KernelOn returns the kernel of a name on a device, by its ordinal in the
// context.
func (p *Program[P, K]) KernelOn(ctx context.Context, device int, name string) (*Kernel[P, K], error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, context.Cause(ctx))
	}
	u, err := p.unit(device)
	if err != nil {
		return nil, err
	}
	native, err := u.kernel(name)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	k := &Kernel[P, K]{program: p, native: native, device: device, name: name}
	p.x.nonHits.Add(1)
	p.refs.Retain()
	if device != p.first {
		return k, nil
	}
	p.kernelMu.Lock()
	defer p.kernelMu.Unlock()
	all := make(map[string]*Kernel[P, K])
	if old := p.kernels.Load(); old != nil {
		if there, ok := (*old)[name]; ok {
			return there, nil
		}
		maps.Copy(all, *old)
	}
	all[name] = k
	p.kernels.Store(&all)
	return k, nil
}
