package kernstash

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
)

// ContextOptions configure the memory tier of one context.
type ContextOptions struct {
	// Progress is called by Preload after each program, from its goroutines,
	// one call at a time; may be nil.
	Progress func(Progress)

	// OptionsAsGiven says that nobody but the request decides the options: the
	// settings that replace them, or add to them, do not count. It is for a front
	// end that cannot change what the driver is given.
	OptionsAsGiven bool

	decided func(engine.Decision) // see engine.SessionOptions; for tests
}

// Context is the memory tier of one GPU context: its live programs and
// kernels, each built exactly once however many goroutines ask. It is safe for
// concurrent use.
type Context[P, K any] struct {
	cache    *cache.Cache
	rt       Runtime[P, K]
	options  ContextOptions
	tier     *live.Tier[P, K, *unit[P, K]]
	captures captures[P, K]
	session  *engine.Session
	closing  sync.Once
}

// NewContext returns the memory tier for a context that a runtime stands for.
// It does not touch the runtime. Close it before the runtime's context ends.
func NewContext[P, K any](c *Cache, rt Runtime[P, K], o ContextOptions) *Context[P, K] {
	x := &Context[P, K]{cache: c.cache(), rt: rt, options: o}
	x.tier = live.New(objects[P, K]{rt, x}, x.cache.MemoryLimits())
	as := engine.SessionOptions{OptionsAsGiven: o.OptionsAsGiven, Decided: o.decided}
	x.session = x.cache.Engine().Session(host[P, K]{Runtime: rt}, as)
	x.captures.init(x)
	if !x.cache.Register(tier[P, K]{x}) {
		x.tier.Shut()
	}
	return x
}

// Program returns the live program of a request: from memory, else from disk,
// else built. It is counted: call Release when done. An error is the
// compiler's own (*BuildError), a failure of the driver, the cause of ctx's
// end, ErrInvalid or ErrClosed; never the cache's.
func (x *Context[P, K]) Program(ctx context.Context, r Request) (*Program[P, K], error) {
	own := r.engine()
	id, err := x.session.ID(&own)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	return x.find(ctx, live.ID(id), &own)
}

// find returns the program of a request, whose constants and attributes it copies if it has to.
func (x *Context[P, K]) find(ctx context.Context, id live.ID, r *engine.Request) (*Program[P, K], error) {
	var res *engine.Resolution
	if r.Image.ReadsFiles() {
		var err error
		if res = x.session.Resolved((*engine.ID)(&id), r.Image); res == nil {
			if res, err = x.resolve(ctx, id, r.Clone()); err != nil {
				return nil, fmt.Errorf("program: %w", err)
			}
			defer res.Forget()
		}
		id = live.ID(res.ID())
	}
	if p := x.hit(&id, r.Image.Serial()); p != nil {
		return p, nil
	}
	p, err := x.tier.Get(ctx, id, r.Image.Serial(), &source[P, K]{x: x, id: id, r: r.Clone(), res: res})
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	return (*Program[P, K])(p), nil
}

// Prepared is a request whose identity has been worked out: asking again with
// it is faster still.
type Prepared[P, K any] struct {
	// What a hit reads comes first, and fits a cache line.
	tier   *live.Tier[P, K, *unit[P, K]]
	last   atomic.Pointer[live.Program[P, K, *unit[P, K]]] // of the last hit; it may have gone since
	serial uint64                                          // of the image; 0: it reads header files, which are looked up first
	id     live.ID

	x       *Context[P, K]
	request engine.Request
}

// Prepare returns a request to ask for again and again. It builds nothing.
func (x *Context[P, K]) Prepare(r Request) (*Prepared[P, K], error) {
	own := r.engine()
	id, err := x.session.ID(&own)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	q := &Prepared[P, K]{tier: x.tier, id: live.ID(id), x: x, request: own.Clone()}
	if !own.Image.ReadsFiles() {
		q.serial = own.Image.Serial()
	}
	return q, nil
}

// Program is Context.Program of the prepared request.
func (q *Prepared[P, K]) Program(ctx context.Context) (*Program[P, K], error) {
	if q.serial != 0 {
		if p := q.last.Load(); p != nil && q.tier.Use(p, q.serial) {
			return (*Program[P, K])(p), nil
		}
		p := q.tier.Hit(&q.id, q.serial)
		q.last.Store(p)
		if p != nil {
			return (*Program[P, K])(p), nil
		}
	}
	return q.x.find(ctx, q.id, &q.request)
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

// hit returns a program that is in memory, with a use added; nil if it is not.
func (x *Context[P, K]) hit(id *live.ID, image uint64) *Program[P, K] {
	return (*Program[P, K])(x.tier.Hit(id, image))
}

// Limits returns the limits of the memory tier: bytes (0 = no limit) and
// programs.
func (x *Context[P, K]) Limits() (bytes int64, programs int) { return x.tier.Limits() }

// SetLimits changes the limits of the memory tier and evicts what is over
// them. Bytes: 0 is no limit; programs: 0 clears the tier and retains nothing
// from then on. Programs in use stay alive with their users.
func (x *Context[P, K]) SetLimits(bytes int64, programs int) error {
	if bytes < 0 || programs < 0 {
		return fmt.Errorf("set limits: %w: negative limit", ErrInvalid)
	}
	x.tier.SetLimits(bytes, programs)
	return nil
}

// Clear evicts every program. Programs in use stay alive with their users.
func (x *Context[P, K]) Clear() { x.tier.Clear() }

// Len returns the number of programs in memory, and their kernels.
func (x *Context[P, K]) Len() (programs, kernels int) { return x.tier.Len() }

// Close ends the context's tier: it waits for builds in flight, captures what
// launches have made so far (for at most the setting close-timeout), and
// releases every live program and kernel once, held or not. It returns a
// *DroppedError if captures were left undone. After it every call returns
// ErrClosed, Release does nothing, and closing again does nothing.
func (x *Context[P, K]) Close() error {
	timeout := x.cache.Settings().CloseTimeout
	x.tier.Shut()
	if dropped := x.close(time.Now().Add(timeout)); len(dropped) > 0 {
		return &DroppedError{Timeout: timeout, Captures: dropped}
	}
	return nil
}

// close captures and releases what there is. A second call waits for the first.
func (x *Context[P, K]) close(deadline time.Time) (dropped []string) {
	x.closing.Do(func() {
		dropped = x.captures.close(deadline)
		x.tier.Release(deadline)
		x.cache.Unregister(tier[P, K]{x})
	})
	return dropped
}

// tier is a Context as its cache knows it.
type tier[P, K any] struct{ x *Context[P, K] }

func (t tier[P, K]) Shut()                                       { t.x.tier.Shut() }
func (t tier[P, K]) Close(deadline time.Time) (dropped []string) { return t.x.close(deadline) }
func (t tier[P, K]) Flush(deadline time.Time) bool               { return t.x.captures.flush(deadline) }
func (t tier[P, K]) Hits() int64                                 { return t.x.tier.Hits() }

// Progress tells of one program of a Preload.
type Progress struct {
	Done, Total       int     // programs so far, this one included, and in all
	Request           Request // which program this was
	Origin            Origin  // where it came from; zero if it failed
	UncacheableReason string  // why it will not be stored; empty if it may be
	Err               error   // why it failed
}

// Preload builds or loads many programs in parallel, as many at a time as
// there are CPUs, and leaves them in memory. It goes on when one fails, and
// returns all errors joined. Cancelling ctx ends it early.
func (x *Context[P, K]) Preload(ctx context.Context, requests ...Request) error {
	errs := make([]error, len(requests))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	done := 0
	var all sync.WaitGroup
	for i, r := range requests {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			p := Progress{Total: len(requests), Request: r}
			program, err := x.Program(ctx, r)
			if err == nil {
				p.Origin, p.UncacheableReason = program.Origin(), program.UncacheableReason()
				program.Release()
			} else {
				p.Err = err
				errs[i] = fmt.Errorf("preload request %d: %w", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			p.Done = done
			if x.options.Progress != nil {
				x.options.Progress(p)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
