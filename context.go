package kernstash

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// ContextOptions configure the memory tier of one context.
type ContextOptions struct {
	// Progress is called by Preload after each program, from its goroutines,
	// one call at a time; may be nil.
	Progress func(Progress)

	// OptionsAsGiven says that nobody but the request decides the options: the
	// settings that replace them, or add to them, do not count. It is for a door
	// that cannot change what the driver is given.
	OptionsAsGiven bool

	// Decided is called with what became of each program that was not in memory,
	// from any goroutine, several at once; may be nil. It returns soon.
	Decided func(Decision)
}

// Context is the memory tier of one GPU context: its live programs and
// kernels, each built exactly once however many goroutines ask. It is safe for
// concurrent use.
type Context[P, K any] struct {
	cache    *Cache
	rt       Runtime[P, K]
	options  ContextOptions
	programs table[P, K]
	clock    atomic.Int64 // even; see Program.used
	closed   atomic.Bool  // no new requests
	closing  sync.Once
	captures captures[P, K]

	// nonHits counts uses of programs that are no hits: those of builders and
	// of those who waited for them.
	nonHits atomic.Int64

	identities func() []identity          // of the devices; asked once, at the first miss
	scoped     atomic.Pointer[key.Digest] // see scope; nil: not asked for yet

	mu       sync.Mutex
	live     map[*Program[P, K]]struct{} // built and not released, evicted or not
	units    map[unitID]*unit[P, K]
	cached   map[*Program[P, K]]struct{} // those of live that are not evicted, and failed ones
	maxBytes int64
	maxCount int
	retired  int64 // memory hits of released programs
	building sync.WaitGroup
	natives  int        // live programs of the runtime
	released *sync.Cond // natives changed
	ended    bool       // Close is over: the runtime is not called any more
}

// NewContext returns the memory tier for a context that a runtime stands for.
// It does not touch the runtime. Close it before the runtime's context ends.
func NewContext[P, K any](c *Cache, rt Runtime[P, K], o ContextOptions) *Context[P, K] {
	x := &Context[P, K]{
		cache: c, rt: rt, options: o,
		live:     make(map[*Program[P, K]]struct{}),
		units:    make(map[unitID]*unit[P, K]),
		cached:   make(map[*Program[P, K]]struct{}),
		maxBytes: c.settings.InMemEvictionThreshold,
		maxCount: c.settings.InMemCapacity,
	}
	if !c.settings.InMemory || c.settings.Disable {
		x.maxCount = 0
	}
	x.released = sync.NewCond(&x.mu)
	x.identities = sync.OnceValue(x.identify)
	x.captures.init(x)
	if !c.register(x) {
		x.closed.Store(true)
	}
	return x
}

// Program returns the live program of a request: from memory, else from disk,
// else built. It is counted: call Release when done. An error is the
// compiler's own (*BuildError), a failure of the driver, the cause of ctx's
// end, ErrInvalid or ErrClosed; never the cache's.
func (x *Context[P, K]) Program(ctx context.Context, r Request) (*Program[P, K], error) {
	id, err := r.id(x.rt.Devices())
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	return x.find(ctx, id, r)
}

// find returns the program of a request, whose constants and attributes it copies if it has to.
func (x *Context[P, K]) find(ctx context.Context, id programID, r Request) (*Program[P, K], error) {
	var res *resolution
	if r.Image.files != nil {
		var err error
		if res = x.resolved(&id, r.Image); res == nil {
			if res, err = x.resolve(ctx, id, r.snapshot()); err != nil {
				return nil, fmt.Errorf("program: %w", err)
			}
			defer res.forget()
		}
		id = res.program()
	}
	if p := x.hit(&id, r.Image.serial); p != nil {
		return p, nil
	}
	return x.miss(ctx, id, r.snapshot(), res)
}

// Prepared is a request whose identity has been worked out: asking again with
// it is faster still.
type Prepared[P, K any] struct {
	// What a hit reads comes first, and fits a cache line.
	x      *Context[P, K]
	id     programID
	serial uint64 // of the image; 0: it reads header files, which are looked up first

	request Request
}

// Prepare returns a request to ask for again and again. It builds nothing.
func (x *Context[P, K]) Prepare(r Request) (*Prepared[P, K], error) {
	id, err := r.id(x.rt.Devices())
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	q := &Prepared[P, K]{x: x, id: id, request: r.snapshot()}
	if r.Image.files == nil {
		q.serial = r.Image.serial
	}
	return q, nil
}

// Program is Context.Program of the prepared request.
func (q *Prepared[P, K]) Program(ctx context.Context) (*Program[P, K], error) {
	if q.serial != 0 {
		if p := q.x.hit(&q.id, q.serial); p != nil {
			return p, nil
		}
	}
	return q.x.find(ctx, q.id, q.request)
}

// Kernel returns the kernel of a name in the program of a request. It holds
// the program; call Release when done.
func (x *Context[P, K]) Kernel(ctx context.Context, r Request, name string) (*Kernel[P, K], error) {
	p, err := x.Program(ctx, r)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.Kernel(ctx, name)
}

// hit returns a program that is there, with a use added; nil if there is none.
// It takes no lock and does not allocate.
func (x *Context[P, K]) hit(id *programID, image uint64) *Program[P, K] {
	p := x.programs.load(id)
	if p == nil || !p.result.Done() || p.foreign(image) {
		return nil
	}
	used, free := p.refs.Acquire()
	if free {
		x.free(p)
	}
	if !used {
		return nil
	}
	p.touch()
	return p
}

// Limits returns the limits of the memory tier: bytes (0 = no limit) and
// programs.
func (x *Context[P, K]) Limits() (bytes int64, programs int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.maxBytes, x.maxCount
}

// ErrLimit is wrapped when a limit is negative. It wraps ErrInvalid.
var ErrLimit error = limitError{}

// limitError is made without fmt, which a process would need for nothing else at its start.
type limitError struct{}

func (limitError) Error() string { return ErrInvalid.Error() + ": negative limit" }
func (limitError) Unwrap() error { return ErrInvalid }

// SetLimits changes the limits of the memory tier and evicts what is over
// them. Bytes: 0 is no limit; programs: 0 clears the tier and retains nothing
// from then on. Programs in use stay alive with their users.
func (x *Context[P, K]) SetLimits(bytes int64, programs int) error {
	if bytes < 0 || programs < 0 {
		return fmt.Errorf("set limits: %w", ErrLimit)
	}
	x.mu.Lock()
	x.maxBytes, x.maxCount = bytes, programs
	x.mu.Unlock()
	x.evict()
	return nil
}

// Clear evicts every program. Programs in use stay alive with their users.
func (x *Context[P, K]) Clear() {
	x.mu.Lock()
	var all []*Program[P, K]
	for p := range x.cached {
		all = append(all, p)
	}
	x.mu.Unlock()
	for _, p := range all {
		x.drop(p)
	}
}

// Len returns the number of programs in memory, and their kernels.
func (x *Context[P, K]) Len() (programs, kernels int) {
	x.mu.Lock()
	counted := make(map[*unit[P, K]]bool)
	for p := range x.cached {
		if !p.result.Done() {
			continue
		}
		programs++
		for _, u := range p.units {
			counted[u] = true
		}
	}
	x.mu.Unlock()
	for u := range counted { // each may be busy making a kernel
		kernels += u.countKernels()
	}
	return programs, kernels
}

// Close ends the context's tier: it waits for builds in flight, captures what
// launches have made so far (for at most the setting close-timeout), and
// releases every live program and kernel once, held or not. It returns a
// *DroppedError if captures were left undone. After it every call returns
// ErrClosed, Release does nothing, and closing again does nothing.
func (x *Context[P, K]) Close() error {
	timeout := x.cache.settings.CloseTimeout
	x.shut()
	if dropped := x.close(time.Now().Add(timeout)); len(dropped) > 0 {
		return &DroppedError{Timeout: timeout, Captures: dropped}
	}
	return nil
}

// flush waits until nothing is to be captured, at most until deadline.
func (x *Context[P, K]) flush(deadline time.Time) bool { return x.captures.flush(deadline) }

// shut lets no request in any more, and waits for the builds in flight.
func (x *Context[P, K]) shut() {
	x.mu.Lock()
	x.closed.Store(true)
	x.mu.Unlock()
	x.building.Wait()
}

// close captures and releases what there is. Whoever calls it a second time
// waits for the first.
func (x *Context[P, K]) close(deadline time.Time) (dropped []string) {
	x.closing.Do(func() { dropped = x.end(deadline) })
	return dropped
}

func (x *Context[P, K]) end(deadline time.Time) (dropped []string) {
	dropped = x.captures.close(deadline)
	x.Clear()
	x.mu.Lock()
	held := make([]*Program[P, K], 0, len(x.live))
	for p := range x.live {
		held = append(held, p)
	}
	x.mu.Unlock()
	for _, p := range held {
		if p.refs.Seize() {
			x.free(p)
		}
	}
	x.awaitReleases(deadline)
	x.cache.unregister(x)
	return dropped
}

// awaitReleases waits until every unit is released, at most until deadline:
// another goroutine may be at it, or a capture that the driver does not end.
// After it the runtime is not called any more.
func (x *Context[P, K]) awaitReleases(deadline time.Time) {
	wake := time.AfterFunc(time.Until(deadline), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.released.Broadcast()
	})
	defer wake.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.natives > 0 && time.Now().Before(deadline) {
		x.released.Wait()
	}
	x.ended = true
}

// memoryHits returns the requests that found a live program or kernel.
func (x *Context[P, K]) memoryHits() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.retired - x.nonHits.Load()
	for p := range x.live {
		n += p.refs.Acquired()
	}
	return max(n, 0)
}

// identity is what a device is, or why that cannot be told.
type identity struct {
	device key.Device
	err    error
}

// errDisabled is why no device is identified where the cache is off: to find out which compilers
// a driver has, and what is in them, takes half a second.
var errDisabled = errors.New("the cache is off")

func (x *Context[P, K]) identify() []identity {
	all := make([]identity, x.rt.Devices())
	for i := range all {
		if x.cache.settings.Disable {
			all[i].err = errDisabled
			continue
		}
		all[i].device, all[i].err = x.rt.Identify(context.Background(), i)
		if all[i].err != nil {
			x.cache.trace.warn("device cannot be identified, its programs are not cached",
				"device", i, "error", all[i].err.Error())
			continue
		}
		on(x.cache.trace.keys, func(l *slog.Logger) {
			l.Debug("device", "ordinal", i, "identity", all[i].device.String(), "digest", all[i].device.Digest().Dir())
		})
	}
	return all
}

// count is a shorthand.
func (x *Context[P, K]) count(c stats.Counter) { x.cache.stats.Add(c, 1) }
