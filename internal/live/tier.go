// Package live is the memory tier of one GPU context: live programs and kernels,
// each made once however many goroutines ask for it, counted, and released once.
//
// It does not know how a program is made: a [Source] makes the parts of one that
// is not there. [Tier.Hit] and [Tier.Use] ask nobody, take no lock and do not
// allocate.
package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// ErrClosed is wrapped by every call on a closed Tier, or on what it held.
var ErrClosed = errors.New("closed")

// ID finds a program in one Tier: a digest of what is asked for, never zero, and
// the set of devices, one bit for each ordinal.
type ID struct {
	What    key.Digest
	Devices uint64
}

// Objects are the live objects of a context, and what else is done when they go.
// Its methods are called from many goroutines at once.
type Objects[P, K, T any] interface {
	// Kernel makes the kernel of a name.
	Kernel(p P, name string) (K, error)

	// ReleaseProgram and ReleaseKernel release an object, once, the kernels of a
	// program before it.
	ReleaseProgram(p P)
	ReleaseKernel(k K)

	// Unused is called when a unit has no user any more, before its objects are
	// released.
	Unused(u *Unit[P, K, T])

	// Evicted is called when a program was evicted because of the limits.
	Evicted(p *Program[P, K, T])

	// Final reports whether err is kept, as to make the program again would fail alike.
	Final(err error) bool

	// Exhausted reports whether err says that a resource ran out. Then the Tier is
	// cleared, and what failed is tried once more.
	Exhausted(err error) bool
}

// Source makes one program. Its methods may be called after whoever asked for the
// program has given up.
type Source[P, K, T any] interface {
	// Parts returns what the program of an id consists of. Own reports that whoever
	// asks is to have it to itself.
	Parts(id ID) (parts []Part, own bool)

	// Make makes a part, by its place among the parts. It sets u.Info and calls
	// u.Publish, or returns an error. ctx ends when nobody waits any more.
	Make(ctx context.Context, u *Unit[P, K, T], part int) error

	// Own returns the id under which whoever asks has a program to itself. It is
	// called when the program of the id that they share is another one's own.
	Own() ID
}

// Part is the part of a program for a group of equal devices. Programs whose parts
// agree share them.
type Part struct {
	What    key.Digest
	Devices []int // ordinals; the same for each set of devices that needs the part
}

// Options configure a Tier.
type Options struct {
	MaxBytes    int64          // 0: no limit
	MaxPrograms int            // 0: none is kept
	Recorder    stats.Recorder // counts misses, waits, evictions, and resources that ran out
}

// Tier holds live programs P, their kernels K, and what their makers note of them, T.
// It is safe for concurrent use.
type Tier[P, K, T any] struct {
	objects  Objects[P, K, T]
	recorder stats.Recorder
	programs table[P, K, T]
	clock    atomic.Int64 // even; see entry.used
	counters counters
	closed   atomic.Bool // no new requests

	// nonHits counts uses of programs that are no hits: those of builders and
	// of those who waited for them.
	nonHits atomic.Int64

	mu          sync.Mutex
	live        map[*Program[P, K, T]]struct{} // made and not released, evicted or not
	cached      map[*Program[P, K, T]]struct{} // those of live that are not evicted, and failed ones
	units       map[unitID]*Unit[P, K, T]
	maxBytes    int64
	maxPrograms int
	retired     int64 // hits of released programs
	building    sync.WaitGroup
	natives     int        // programs P that are published and not released
	released    *sync.Cond // natives changed
	ended       bool       // Release is over: objects are not called any more
}

// New returns an empty Tier.
func New[P, K, T any](objects Objects[P, K, T], o Options) *Tier[P, K, T] {
	t := &Tier[P, K, T]{
		objects: objects, recorder: o.Recorder, maxBytes: o.MaxBytes, maxPrograms: o.MaxPrograms,
		live:   make(map[*Program[P, K, T]]struct{}),
		cached: make(map[*Program[P, K, T]]struct{}),
		units:  make(map[unitID]*Unit[P, K, T]),
	}
	t.released = sync.NewCond(&t.mu)
	return t
}

// Hit returns the program of an id, with a use added, if it is there and not
// another one's own; else nil. Owner stands for whoever asks, and is not 0.
func (t *Tier[P, K, T]) Hit(id *ID, owner uint64) *Program[P, K, T] {
	p := t.programs.load(id)
	if p == nil || !t.Use(p, owner) {
		return nil
	}
	return p
}

// Use adds a use to a program that Hit returned before, and reports whether it did:
// not if the program was evicted since, or is another one's own. The caller need not
// have a use of it.
func (t *Tier[P, K, T]) Use(p *Program[P, K, T], owner uint64) bool {
	taken, free := p.take(owner, t.clock.Load())
	if free {
		t.free(p)
	}
	return taken
}

// Get makes the program that Hit did not find, or waits until somebody else has
// made it, and returns it with a use added. An error is that of Source.Make, the
// cause of ctx's end, or ErrClosed.
func (t *Tier[P, K, T]) Get(ctx context.Context, id ID, owner uint64, s Source[P, K, T]) (*Program[P, K, T], error) {
	t.count(stats.MemoryMisses)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if t.closed.Load() {
			return nil, ErrClosed
		}
		p := t.programs.loadOrAdd(&id, func() *Program[P, K, T] { return newProgram(t, id) })
		taken, err := p.result.Do(ctx, flight.Hooks{
			Build:  func(ctx context.Context) error { return t.assemble(ctx, p, owner, s) },
			Keep:   t.isFinal,
			Take:   func() { t.nonHits.Add(1); p.refs.retain() },
			Drop:   p.Release,
			Waited: func() { t.count(stats.MemoryWaits) },
		})
		if p.exclusiveToOther(owner) {
			if taken {
				p.Release()
			}
			t.forget(p)
			id = s.Own()
			continue
		}
		if err != nil {
			t.forget(p)
			return nil, err
		}
		if taken {
			return p, nil
		}
		if there := t.Hit(&id, owner); there != nil {
			t.nonHits.Add(1) // counted as a miss already
			return there, nil
		}
		t.programs.remove(p, nil) // evicted meanwhile
	}
}

// isFinal reports whether an error is kept. A panic is not: beside a final error
// of one device it may be another's.
func (t *Tier[P, K, T]) isFinal(err error) bool {
	return t.objects.Final(err) && !flight.IsPanic(err)
}

// again reports whether what failed is tried once more: a resource ran out, the Tier was cleared.
func (t *Tier[P, K, T]) again(err error) bool {
	if err == nil || !t.objects.Exhausted(err) {
		return false
	}
	t.count(stats.OutOfResources)
	t.Clear()
	return true
}

// forget removes a program that is not made nor being made; a final failure stays.
func (t *Tier[P, K, T]) forget(p *Program[P, K, T]) {
	t.programs.remove(p, func() bool { return p.result.State() != flight.Initial })
}

func (t *Tier[P, K, T]) count(c stats.Counter) { t.recorder.Add(c, 1) }

// Len returns the number of programs that are kept, and of their kernels.
func (t *Tier[P, K, T]) Len() (programs, kernels int) {
	t.mu.Lock()
	units := make(map[*Unit[P, K, T]]bool)
	for p := range t.cached {
		if !p.result.Done() {
			continue
		}
		programs++
		for _, u := range p.units {
			units[u] = true
		}
	}
	t.mu.Unlock()
	for u := range units { // each may be busy making a kernel
		u.mu.Lock()
		kernels += len(u.kernels)
		u.mu.Unlock()
	}
	return programs, kernels
}

// Hits returns how often a program or kernel was there when it was asked for.
func (t *Tier[P, K, T]) Hits() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.retired - t.nonHits.Load()
	for p := range t.live {
		n += p.refs.acquired()
	}
	return max(n, 0)
}

// Closed reports whether Shut was called.
func (t *Tier[P, K, T]) Closed() bool { return t.closed.Load() }

// Enter begins what Shut waits for, until Leave is called; false: the Tier is
// closed.
func (t *Tier[P, K, T]) Enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return false
	}
	t.building.Add(1)
	return true
}

// Leave ends what Enter began.
func (t *Tier[P, K, T]) Leave() { t.building.Done() }

// Shut lets no request in any more, and waits for those under way.
func (t *Tier[P, K, T]) Shut() {
	t.mu.Lock()
	t.closed.Store(true)
	t.mu.Unlock()
	t.building.Wait()
}

// Release releases each live object, whether it is held or not, and waits until
// all are released, at most until deadline: another goroutine may be releasing
// one, or a unit may still have a user. After it no object is released any more,
// but Objects.Unused may be called. Shut comes before it.
func (t *Tier[P, K, T]) Release(deadline time.Time) {
	t.Clear()
	t.mu.Lock()
	held := slices.Collect(maps.Keys(t.live))
	t.mu.Unlock()
	for _, p := range held {
		if p.refs.seize() {
			t.free(p)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	flight.Await(t.released, deadline, func() bool { return t.natives == 0 })
	t.ended = true
}
