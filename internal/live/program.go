package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/flight"
)

// Program is a live program for a set of devices. It stays alive until its last
// user releases it, or its Tier is released.
type Program[P, K, T any] struct {
	// What a hit reads comes first, and stands together.
	entry
	first  int // the ordinal of the first device, and its program
	native P
	t      *Tier[P, K, T]

	units    []*Unit[P, K, T] // written by the build
	unitFor  []*Unit[P, K, T] // by the ordinal of a device, nil for other devices
	kernels  atomic.Pointer[map[string]*Kernel[P, K, T]]
	kernelMu sync.Mutex // for adding kernels
}

// entry is what a request looks at of a program, whatever its types: the compiler
// inlines calls in it, which it does not in methods of generic types.
type entry struct {
	id     ID
	refs   counter
	result flight.Result
	free   func() // who ends the last use calls it

	// owner has the program to itself; 0: it is everybody's. It may be known only
	// when the program is made.
	owner atomic.Uint64

	// used is the clock of the last use, for eviction. A build advances the
	// clock by two and stamps its program with it; a hit stamps the program
	// with the odd number behind the clock. So a hit writes at most once
	// between two builds, and programs that were hit since the last build rank
	// above all others.
	used atomic.Int64
}

// newProgram returns a program that is to be made.
func newProgram[P, K, T any](t *Tier[P, K, T], id ID) *Program[P, K, T] {
	p := &Program[P, K, T]{t: t, entry: entry{id: id, refs: t.counters.add()}}
	p.free = func() { t.free(p) }
	return p
}

// take adds a use to a program that is made, not another one's own, and not about to
// go, at a time of the clock. Free: the caller must free the program now.
func (e *entry) take(owner uint64, clock int64) (taken, free bool) {
	if !e.result.Done() || e.exclusiveToOther(owner) {
		return false, false
	}
	if s, ok := e.refs.acquire(); !ok {
		return false, e.refs.refuse(s)
	}
	if now := clock | 1; e.used.Load() < now {
		e.used.Store(now)
	}
	return true, false
}

// exclusiveToOther reports whether the program is another one's own.
func (e *entry) exclusiveToOther(asker uint64) bool {
	owner := e.owner.Load()
	return owner != 0 && owner != asker
}

// Release ends one use of the program. After Tier.Release it does nothing.
func (e *entry) Release() {
	if e.refs.release() && e.refs.end() {
		e.free()
	}
}

// ErrDevice is wrapped when a program is asked about a device that it is not
// built for.
var ErrDevice = errors.New("not built for this device")

// ID returns the id under which the program is found.
func (p *Program[P, K, T]) ID() ID { return p.id }

// First returns the ordinal of the first device.
func (p *Program[P, K, T]) First() int { return p.first }

// Units returns the parts of the program; none if it could not be made. The
// caller must not change them.
func (p *Program[P, K, T]) Units() []*Unit[P, K, T] { return p.units }

// Unit returns the part of the program for a device, by its ordinal.
func (p *Program[P, K, T]) Unit(device int) (*Unit[P, K, T], error) {
	if p.t.closed.Load() {
		return nil, fmt.Errorf("program: %w", ErrClosed)
	}
	if device < 0 || device >= len(p.unitFor) || p.unitFor[device] == nil {
		return nil, fmt.Errorf("program, device %d: %w", device, ErrDevice)
	}
	return p.unitFor[device], nil
}

// Native returns the runtime's program for a device, by its ordinal.
func (p *Program[P, K, T]) Native(device int) (native P, err error) {
	if device == p.first && !p.t.closed.Load() {
		return p.native, nil
	}
	u, err := p.Unit(device)
	if err != nil {
		return native, err
	}
	return u.native, nil
}

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
