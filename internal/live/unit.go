package live

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
)

// unitID finds a unit: what the part is, the first of its devices, and who has it
// to itself.
type unitID struct {
	what  key.Digest
	group int
	owner uint64 // see entry.owner
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

// kernel returns the runtime's kernel of a name, made once. Whoever asks holds the
// unit, so that it is not cleared.
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

func (u *Unit[P, K, T]) countKernels() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.kernels)
}
