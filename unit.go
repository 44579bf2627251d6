package kernstash

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// unitID finds a unit in one context: what the request says, and the first
// device of the group of equal devices that it is for.
type unitID struct {
	what  key.Digest
	group int
	owner uint64 // see Program.owner
}

// unit is a live program of the runtime, for one group of equal devices.
// Programs hold units; a unit is released with its last holder.
type unit[P, K any] struct {
	x       *Context[P, K]
	id      unitID
	devices []int // ordinals, of equal identity
	result  flight.Result
	users   int // guarded by x.mu

	// Written by the build.
	native  P
	job     Job
	key     key.Key // zero: not cacheable
	origin  Origin
	against deps.Reason // what speaks against storing it
	tracked *tracked    // what it reads; nil: nothing

	missed   reason.Reason // why it was not on disk; of those that are compiled
	ahead    *ahead        // what is done while it is compiled; nil: nothing
	decision *decision     // not told yet

	observed *observed // mode observe: what a hit would have served; nil: nothing
	bytes    atomic.Int64

	// owner is the serial of the image that has the unit to itself, since header
	// files changed while it was built: what it was built from is not known. It
	// is written by the build, be it in vain.
	owner uint64

	kernelMu sync.Mutex
	kernels  map[string]K
	made     bool // native exists, and is to be released

	capture captureState // guarded by the mutex of x.captures
}

// ownUnit is acquireUnit for a program p, which becomes the image's own if a unit
// is.
func (x *Context[P, K]) ownUnit(ctx context.Context, p *Program[P, K], id unitID, devices []int, r Request, t *tracked) (*unit[P, K], error) {
	if t != nil && t.against.None() {
		id.what = t.what // so subsets of the devices find it
	}
	u, owner, err := x.acquireUnit(ctx, id, devices, r, t)
	if owner != 0 && owner != r.Image.serial {
		if u != nil {
			x.releaseUnit(u)
		}
		id.owner = r.Image.serial
		u, owner, err = x.acquireUnit(ctx, id, devices, r, t)
	}
	if owner != 0 {
		p.owner.Store(owner)
	}
	return u, err
}

// acquireUnit returns the unit, built, with a use added, and its owner even if
// it could not be built.
func (x *Context[P, K]) acquireUnit(ctx context.Context, id unitID, devices []int, r Request, t *tracked) (_ *unit[P, K], owner uint64, _ error) {
	x.mu.Lock()
	u := x.units[id]
	if u == nil {
		u = &unit[P, K]{x: x, id: id, devices: devices, tracked: t}
		x.units[id] = u
	}
	u.users++
	x.mu.Unlock()
	_, err := u.result.Do(ctx, flight.Hooks{
		Build: func(ctx context.Context) error {
			// Those who wait may all give up before the driver does.
			if !x.enter() {
				return ErrClosed
			}
			defer x.building.Done()
			x.retainUnit(u)
			defer x.releaseUnit(u)
			return x.buildUnit(ctx, u, r)
		},
		Keep: isFinal,
	})
	if isFinal(err) || err == nil {
		owner = u.owner
	}
	if err != nil {
		x.releaseUnit(u)
		return nil, owner, err
	}
	return u, owner, nil
}

func (x *Context[P, K]) retainUnit(u *unit[P, K]) {
	x.mu.Lock()
	u.users++
	x.mu.Unlock()
}

// releaseUnit ends one use; the last one releases the runtime's objects, its
// kernels first.
func (x *Context[P, K]) releaseUnit(u *unit[P, K]) {
	x.mu.Lock()
	u.users--
	last := u.users == 0
	if last && x.units[u.id] == u {
		delete(x.units, u.id)
	}
	x.mu.Unlock()
	if !last {
		return
	}
	x.captures.abandon(u)
	u.kernelMu.Lock()
	defer u.kernelMu.Unlock()
	if !u.made || x.isEnded() {
		return // a driver call outlived Close: better to leak than to touch it now
	}
	u.made = false
	for _, k := range u.kernels {
		x.rt.ReleaseKernel(k)
	}
	u.kernels = nil
	x.rt.ReleaseProgram(u.native)
	x.countNatives(-1)
}

// countNatives counts the runtime's live programs; Close waits for the last.
func (x *Context[P, K]) countNatives(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.natives += n
	x.released.Broadcast()
}

func (x *Context[P, K]) isEnded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}

// kernel returns the runtime's kernel of a name, made once. Out of resources, it
// clears the memory tier (not this unit: who asks holds it) and tries once more.
func (u *unit[P, K]) kernel(name string) (K, error) {
	k, err := u.makeKernel(name)
	if errors.Is(err, ErrOutOfResources) {
		u.x.count(stats.OutOfResources)
		u.x.Clear()
		k, err = u.makeKernel(name)
	}
	return k, err
}

func (u *unit[P, K]) makeKernel(name string) (k K, err error) {
	u.kernelMu.Lock()
	defer u.kernelMu.Unlock()
	if k, ok := u.kernels[name]; ok {
		return k, nil
	}
	if !u.made {
		return k, ErrClosed
	}
	k, err = u.x.rt.Kernel(u.native, name)
	if err != nil {
		return k, err
	}
	if u.kernels == nil {
		u.kernels = make(map[string]K)
	}
	u.kernels[name] = k
	return k, nil
}

func (u *unit[P, K]) countKernels() int {
	u.kernelMu.Lock()
	defer u.kernelMu.Unlock()
	return len(u.kernels)
}

// label names a unit for people.
func (u *unit[P, K]) label() string {
	if u.key.IsZero() {
		return u.id.what.String()[:12]
	}
	return u.key.Short()
}
