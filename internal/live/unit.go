package live

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
)

// unitID finds a unit.
type unitID struct {
	what  key.Digest // of the part
	group int        // the first of its devices
	owner uint64     // see entry.owner
}

// Unit is a live program of the runtime, for one group of equal devices. Programs
// hold units; a unit's objects are released with its last holder.
type Unit[P, K, T any] struct {
	// Info is what Source.Make notes. It is written before the unit is in a program.
	Info T

	t       *Tier[P, K, T]
	id      unitID
	devices []int
	result  flight.Result
	users   int // guarded by t.mu
	bytes   atomic.Int64

	// owner has the unit to itself, which the build found out; see Own.
	owner uint64

	mu      sync.Mutex // for kernels, and made
	native  P
	made    bool // native exists, and is to be released
	kernels map[string]K
}

// Native returns the runtime's program.
func (u *Unit[P, K, T]) Native() P { return u.native }

// Own says, during Source.Make, that nobody but owner may have the unit, or the
// error that Make returns if that is final.
func (u *Unit[P, K, T]) Own(owner uint64) { u.owner = owner }

// Publish makes native the unit's, which releases it. Bytes counts for the limit.
func (u *Unit[P, K, T]) Publish(native P, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.native, u.made = native, true
	u.bytes.Store(bytes)
	u.t.countNatives(+1)
}

// SetBytes changes what counts for the limit, from the next program on that is made.
func (u *Unit[P, K, T]) SetBytes(n int64) { u.bytes.Store(n) }

// Retain adds a use of the unit, whose objects are then not released by anybody
// before Release is called.
func (u *Unit[P, K, T]) Retain() {
	u.t.mu.Lock()
	u.users++
	u.t.mu.Unlock()
}

// retainUsed is Retain for a build: those who wait for it may all give up before the
// driver does. False: they have done so already.
func (u *Unit[P, K, T]) retainUsed() bool {
	u.t.mu.Lock()
	defer u.t.mu.Unlock()
	if u.users == 0 {
		return false
	}
	u.users++
	return true
}

// Release ends one use; the last one releases the objects.
func (u *Unit[P, K, T]) Release() {
	t := u.t
	t.mu.Lock()
	u.users--
	last := u.users == 0
	if last && t.units[u.id] == u {
		delete(t.units, u.id)
	}
	t.mu.Unlock()
	if last {
		t.objects.Unused(u)
		u.releaseObjects()
	}
}

// releaseObjects releases the runtime's objects, kernels first.
func (u *Unit[P, K, T]) releaseObjects() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.t.mu.Lock()
	ended := u.t.ended
	u.t.mu.Unlock()
	if !u.made || ended {
		return // a driver call outlived Close: better to leak than to touch it now
	}
	u.made = false
	for _, k := range u.kernels {
		u.t.objects.ReleaseKernel(k)
	}
	u.kernels = nil
	u.t.objects.ReleaseProgram(u.native)
	u.t.countNatives(-1)
}

// countNatives counts the runtime's live programs; Tier.Release waits for the last.
func (t *Tier[P, K, T]) countNatives(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.natives += n
	t.released.Broadcast()
}

// unit returns the unit of a part, made, with a use added. Owner has it to itself if
// it is anybody's own; it is known even if the unit could not be made.
func (t *Tier[P, K, T]) unit(ctx context.Context, id unitID, devices []int, make func(context.Context, *Unit[P, K, T]) error) (_ *Unit[P, K, T], owner uint64, _ error) {
	t.mu.Lock()
	u := t.units[id]
	if u == nil {
		u = &Unit[P, K, T]{t: t, id: id, devices: devices}
		t.units[id] = u
	}
	u.users++
	t.mu.Unlock()
	_, err := u.result.Do(ctx, flight.Hooks{
		Build: func(ctx context.Context) error {
			if !t.Enter() {
				return ErrClosed
			}
			defer t.Leave()
			if !u.retainUsed() {
				return context.Canceled
			}
			defer u.Release()
			made := false
			defer func() {
				if !made { // it failed, or panicked, after Publish
					u.releaseObjects()
				}
			}()
			err := make(ctx, u)
			if t.again(err) {
				u.releaseObjects()
				err = make(ctx, u)
			}
			made = err == nil
			return err
		},
		Keep: t.isFinal,
	})
	if err == nil || t.isFinal(err) {
		owner = u.owner
	}
	if err != nil {
		u.Release()
		return nil, owner, err
	}
	return u, owner, nil
}

// kernel returns the kernel of a name, made once. Whoever asks holds the unit: it is not cleared.
func (u *Unit[P, K, T]) kernel(name string) (K, error) {
	k, err := u.makeKernel(name)
	if u.t.again(err) {
		k, err = u.makeKernel(name)
	}
	return k, err
}

func (u *Unit[P, K, T]) makeKernel(name string) (k K, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if k, ok := u.kernels[name]; ok {
		return k, nil
	}
	if !u.made {
		return k, ErrClosed
	}
	k, err = u.t.objects.Kernel(u.native, name)
	if err != nil {
		return k, err
	}
	if u.kernels == nil {
		u.kernels = make(map[string]K)
	}
	u.kernels[name] = k
	return k, nil
}

// assemble makes a program of the units of its parts. Units that another program
// has already are shared, so a program for several devices answers for each subset
// of them, and only what is missing is made.
func (t *Tier[P, K, T]) assemble(ctx context.Context, p *Program[P, K, T], owner uint64, s Source[P, K, T]) error {
	if !t.Enter() {
		return ErrClosed
	}
	defer t.Leave()
	parts, own := s.Parts(p.id)
	if own {
		p.owner.Store(owner)
	}
	units := make([]*Unit[P, K, T], len(parts))
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		one := func() (err error) {
			units[i], err = t.part(ctx, p, part, i, owner, s)
			return err
		}
		if len(parts) == 1 {
			errs[i] = one()
		} else {
			all.Go(func() { errs[i] = flight.Guard(one) })
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, u := range units {
			if u != nil {
				u.Release()
			}
		}
		if len(parts) == 1 {
			err = errs[0]
		}
		if t.isFinal(err) {
			t.admit(p, false)
		}
		return err
	}
	p.units, p.unitFor = units, make([]*Unit[P, K, T], bits.Len64(p.id.Devices))
	for _, u := range units {
		for _, d := range u.devices {
			if p.id.Devices&(1<<d) != 0 {
				p.unitFor[d] = u
			}
		}
	}
	p.first = bits.TrailingZeros64(p.id.Devices)
	p.native = p.unitFor[p.first].native
	t.nonHits.Add(1)
	p.refs.retain() // until all who wait have taken it
	t.admit(p, true)
	return nil
}

// part returns the unit of a part of p, which becomes its owner's own if the unit is.
func (t *Tier[P, K, T]) part(ctx context.Context, p *Program[P, K, T], part Part, i int, asker uint64, s Source[P, K, T]) (*Unit[P, K, T], error) {
	make := func(ctx context.Context, u *Unit[P, K, T]) error { return s.Make(ctx, u, i) }
	id := unitID{part.What, part.Devices[0], p.owner.Load()}
	u, owner, err := t.unit(ctx, id, part.Devices, make)
	if owner != 0 && owner != asker {
		if u != nil {
			u.Release()
		}
		id.owner = asker
		u, owner, err = t.unit(ctx, id, part.Devices, make)
	}
	if owner != 0 {
		p.owner.Store(owner)
	}
	return u, err
}
