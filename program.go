package kernstash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/refcount"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// Program is a live program for a set of devices. It stays alive until its
// last user releases it or its Context is closed. It is safe for concurrent
// use; whether the runtime's own object is, is the runtime's matter.
type Program[P, K any] struct {
	// What a hit reads comes first, and stands together.
	id     programID
	refs   refcount.Counter
	first  int // the ordinal of the first device, and its program
	native P
	x      *Context[P, K]
	result flight.Result

	// owner is the serial of the image that has the program to itself, because
	// it reads what no key holds, or header files that changed while it was
	// built; 0 for all others.
	owner atomic.Uint64

	// used is the clock of the last use, for eviction. A build advances the
	// clock by two and stamps its program with it; a hit stamps the program
	// with the odd number behind the clock. So a hit writes at most once
	// between two builds, and programs that were hit since the last build rank
	// above all others.
	used atomic.Int64

	units    []*unit[P, K] // written by the build
	unitFor  []int         // ordinal of a device → index in units, -1 for other devices
	kernels  atomic.Pointer[map[string]*Kernel[P, K]]
	kernelMu sync.Mutex // for adding kernels
}

func (p *Program[P, K]) touch() {
	if now := p.x.clock.Load() | 1; p.used.Load() < now {
		p.used.Store(now)
	}
}

// Release ends one use of the program. Each Program that a call returned is
// released once; after Context.Close it does nothing.
func (p *Program[P, K]) Release() {
	if p.refs.Release() {
		p.x.free(p)
	}
}

// ErrDevice is wrapped when a program is asked about a device that it is not
// built for.
var ErrDevice = errors.New("not built for this device")

// Native returns the runtime's program for a device, by its ordinal in the
// context. It is the Program's: it must not be released, nor used after
// Release.
func (p *Program[P, K]) Native(device int) (native P, err error) {
	if device == p.first && !p.x.closed.Load() {
		return p.native, nil
	}
	u, err := p.unit(device)
	if err != nil {
		return native, err
	}
	return u.native, nil
}

// Key returns the key of the program for a device, by its ordinal in the
// context; the zero Key if the program cannot be cached or is not built for the
// device.
func (p *Program[P, K]) Key(device int) key.Key {
	u, err := p.unit(device)
	if err != nil {
		return key.Key{}
	}
	return u.key
}

func (p *Program[P, K]) unit(device int) (*unit[P, K], error) {
	if p.x.closed.Load() {
		return nil, fmt.Errorf("program: %w", ErrClosed)
	}
	if device < 0 || device >= len(p.unitFor) || p.unitFor[device] < 0 {
		return nil, fmt.Errorf("program, device %d: %w", device, ErrDevice)
	}
	return p.units[p.unitFor[device]], nil
}

// Launched tells that a kernel was launched in a way, named by variant, that a
// deferring driver may have made code for. Adapters call it at the first
// launch of each variant; it returns at once.
func (p *Program[P, K]) Launched(device int, variant string) {
	if u, err := p.unit(device); err == nil {
		p.x.captures.launched(u, variant)
	}
}

// foreign says whether the program is another image's own.
func (p *Program[P, K]) foreign(image uint64) bool {
	owner := p.owner.Load()
	return owner != 0 && owner != image
}

// miss finds or builds the program that hit did not find. res is nil for an
// image that reads no files.
func (x *Context[P, K]) miss(ctx context.Context, id programID, r Request, res *resolution) (*Program[P, K], error) {
	x.count(stats.MemoryMisses)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("program: %w", context.Cause(ctx))
		}
		if x.closed.Load() {
			return nil, fmt.Errorf("program: %w", ErrClosed)
		}
		p := x.programs.loadOrAdd(&id, func() *Program[P, K] {
			return &Program[P, K]{x: x, id: id, refs: refcount.New()}
		})
		taken, err := p.result.Do(ctx, flight.Hooks{
			Build:  func(ctx context.Context) error { return x.assemble(ctx, p, r, res) },
			Keep:   isFinal,
			Take:   func() { x.nonHits.Add(1); p.refs.Retain() },
			Drop:   p.Release,
			Waited: func() { x.count(stats.MemoryWaits) },
		})
		if p.foreign(r.Image.serial) {
			// Its image and ours look alike, and may not be.
			if taken {
				p.Release()
			}
			x.forget(p)
			if res != nil {
				res.alone.Store(true)
				id = res.private
			} else {
				id = id.private(r.Image.serial)
			}
			continue
		}
		if err != nil {
			x.forget(p)
			return nil, fmt.Errorf("program: %w", err)
		}
		if taken {
			return p, nil
		}
		used, free := p.refs.Acquire()
		if free {
			x.free(p)
		}
		if used {
			x.nonHits.Add(1) // counted as a miss already
			p.touch()
			return p, nil
		}
		x.programs.remove(p, nil) // evicted meanwhile
	}
}

// isFinal says which errors are kept: what the compiler says of a program it
// will say again.
func isFinal(err error) bool {
	var diagnostic *BuildError
	return errors.As(err, &diagnostic) && !flight.IsPanic(err) // one device's, another's
}

// forget removes a program that was not made and is not being made; a final
// failure stays.
func (x *Context[P, K]) forget(p *Program[P, K]) {
	x.programs.remove(p, func() bool { return p.result.State() != flight.Initial })
}
