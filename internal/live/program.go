package live

import (
	"errors"
	"fmt"
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
	p := &Program[P, K, T]{t: t, entry: entry{id: id, refs: newCounter()}}
	p.free = func() { t.free(p) }
	return p
}

// take adds a use to a program that is made, not another one's own, and not about to
// go, at a time of the clock. Free: the caller must free the program now.
func (e *entry) take(owner uint64, clock int64) (taken, free bool) {
	if !e.result.Done() || e.foreign(owner) {
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

// foreign reports whether the program is another one's own.
func (e *entry) foreign(asker uint64) bool {
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
