package live

import (
	"context"
	"fmt"
	"maps"
)

// Kernel is a live kernel of a Program, for one device. It holds its program.
// Goroutines that ask for the same kernel share one.
type Kernel[P, K, T any] struct {
	program *Program[P, K, T]
	native  K
	device  int
	name    string
}

// Native returns the runtime's kernel.
func (k *Kernel[P, K, T]) Native() K { return k.native }

// Name returns the kernel's name.
func (k *Kernel[P, K, T]) Name() string { return k.name }

// Program returns the program that the kernel belongs to.
func (k *Kernel[P, K, T]) Program() *Program[P, K, T] { return k.program }

// Device returns the ordinal of the device that the kernel was asked for.
func (k *Kernel[P, K, T]) Device() int { return k.device }

// Release ends one use of the kernel, and of its program with it.
func (k *Kernel[P, K, T]) Release() { k.program.Release() }

// Kernel returns the kernel of a name on the program's first device, with a use
// added. One that is there is found without a lock or an allocation.
func (p *Program[P, K, T]) Kernel(ctx context.Context, name string) (*Kernel[P, K, T], error) {
	if p.t.closed.Load() {
		return nil, fmt.Errorf("kernel %s: %w", name, ErrClosed)
	}
	if all := p.kernels.Load(); all != nil {
		if k, ok := (*all)[name]; ok {
			p.refs.retain()
			return k, nil
		}
	}
	return p.KernelOn(ctx, p.first, name)
}

// KernelOn returns the kernel of a name on a device, by its ordinal, with a use
// added.
func (p *Program[P, K, T]) KernelOn(ctx context.Context, device int, name string) (*Kernel[P, K, T], error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, context.Cause(ctx))
	}
	u, err := p.Unit(device)
	if err != nil {
		return nil, err
	}
	native, err := u.kernel(name)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	k := &Kernel[P, K, T]{program: p, native: native, device: device, name: name}
	p.t.nonHits.Add(1)
	p.refs.retain()
	if device != p.first {
		return k, nil
	}
	p.kernelMu.Lock()
	defer p.kernelMu.Unlock()
	all := make(map[string]*Kernel[P, K, T])
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
