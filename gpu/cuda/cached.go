package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
)

// CachedProgram is a program that a cache holds. Its kernels have the names of the code, or of the
// request's name expressions; its one device is 0. Of CUDA C++ for a virtual architecture it says
// of NVRTC's work where it came from; Module.Linked says it of the driver's.
type CachedProgram = kernstash.Program[*Module, *Kernel]

// CachedKernel is a kernel of a CachedProgram. Goroutines may share it.
type CachedKernel = kernstash.Kernel[*Module, *Kernel]

// coreContext is a memory tier.
type coreContext = kernstash.Context[*Module, *Kernel]

// Cached is a Context whose programs come from a cache: from memory, else from
// disk, else from the compilers: NVRTC, and the driver's for PTX.
type Cached struct {
	*Context
	nvrtc       func() (*rtc.Library, error)
	compiler    *coreContext // of CUDA C++: for those who have called nvrtc
	linker      *coreContext // of PTX
	linkOptions string
	own         bool // the Context goes with it
}

// CachedOptions configure NewCached; the zero value is right for nearly all.
type CachedOptions struct {
	// NVRTC is the library to compile CUDA C++ with. Nil: the first that the dynamic linker finds.
	NVRTC *rtc.Library

	// LateNVRTC opens that library only at the first program of CUDA C++. It is for programs that have
	// PTX or cubins alone: otherwise NewContext opens it beside making the context, since either takes
	// some ten milliseconds, and even a program that is on disk needs to know which NVRTC is here.
	LateNVRTC bool

	// LinkOptions are for the driver's compiler, where it finishes the PTX that
	// NVRTC made: -maxrregcount=N, -O0 to -O4, -G, -lineinfo, -v.
	LinkOptions string

	// Context configures the memory tiers: each that this makes.
	Context kernstash.ContextOptions
}

// NewContext opens the primary context of a device, and puts cache before its
// compilers. The caller closes it, before the cache.
func NewContext(cache *kernstash.Cache, d *Device) (*Cached, error) {
	return NewContextWith(cache, CachedOptions{}, d)
}

// NewContextWith is NewContext with options.
func NewContextWith(cache *kernstash.Cache, o CachedOptions, d *Device) (*Cached, error) {
	nvrtc := openNVRTC(o)
	if o.NVRTC == nil && !o.LateNVRTC {
		go func() {
			if l, err := nvrtc(); err == nil {
				_, _ = l.Identify()
			}
		}()
	}
	c, err := Open(d)
	if err != nil {
		return nil, err
	}
	x := newCached(cache, c, o, nvrtc)
	x.own = true
	return x, nil
}

// openNVRTC returns what returns the library, and opens it once.
func openNVRTC(o CachedOptions) func() (*rtc.Library, error) {
	return sync.OnceValues(func() (*rtc.Library, error) {
		if o.NVRTC != nil {
			return o.NVRTC, nil
		}
		l, err := rtc.Open(rtc.NVRTC, "")
		if err != nil {
			return nil, fmt.Errorf("%w; install the CUDA toolkit's NVRTC (libnvrtc), or put its directory into LD_LIBRARY_PATH", err)
		}
		return l, nil
	})
}

// NewCached puts cache before the compilers of a context that the caller has
// opened or adopted, and releases after closing what this returns.
func NewCached(cache *kernstash.Cache, c *Context, o CachedOptions) *Cached {
	return newCached(cache, c, o, openNVRTC(o))
}

func newCached(cache *kernstash.Cache, c *Context, o CachedOptions, nvrtc func() (*rtc.Library, error)) *Cached {
	o.Context.OptionsAsGiven = true // they are NVRTC's and the driver's, not an OpenCL compiler's
	x := &Cached{Context: c, linkOptions: o.LinkOptions}
	rt := &compiler{cached: x}
	x.nvrtc = sync.OnceValues(func() (l *rtc.Library, err error) {
		rt.Library, err = nvrtc()
		return rt.Library, err
	})
	x.compiler = kernstash.NewContext(cache, rt, o.Context)
	x.linker = kernstash.NewContext(cache, NewLinker(c), o.Context)
	return x
}

// NVRTC returns the library that compiles CUDA C++. Where there is none the error
// wraps rtc.ErrNoLibrary, and says what to do.
func (x *Cached) NVRTC() (*rtc.Library, error) { return x.nvrtc() }

// Request returns what NVRTC is to be asked for as the core's request, for
// Program, Prepare and Preload. Options that name no architecture get that of
// Device.Arch. Make it once, and use it often: making it reads the source.
func (x *Cached) Request(r rtc.Request) (kernstash.Request, error) {
	l, err := x.nvrtc()
	if err != nil {
		return kernstash.Request{}, fmt.Errorf("request: %w", err)
	}
	if !slices.ContainsFunc(r.Options, namesArch) {
		r.Options = append(slices.Clone(r.Options), archOption+x.device.Arch(l))
	}
	return l.Core(r)
}

const archOption = "--gpu-architecture="

// Compile is Program of Request.
func (x *Cached) Compile(ctx context.Context, r rtc.Request) (*CachedProgram, error) {
	q, err := x.Request(r)
	if err != nil {
		return nil, err
	}
	return x.Program(ctx, q)
}

// Program returns the program of a request, counted: the caller releases it. What
// a compiler refuses is a *kernstash.BuildError, equal for all who ask.
//
// The request is one that Request made, or has an image of CUDA C++, with options
// for NVRTC as compile options; or an image of PTX, in one unit or in several that
// are linked, with link options for the driver's compiler (see CachedOptions).
func (x *Cached) Program(ctx context.Context, r kernstash.Request) (*CachedProgram, error) {
	c, r, err := x.normalize(r)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	return c.Program(ctx, r)
}

// Kernel returns a kernel of the program of a request, by its name or by a name
// expression of the request. It holds the program; the caller releases it.
func (x *Cached) Kernel(ctx context.Context, r kernstash.Request, name string) (*CachedKernel, error) {
	p, err := x.Program(ctx, r)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.Kernel(ctx, name)
}

// Prepare returns a request to ask for again and again, which is faster still. It builds nothing.
func (x *Cached) Prepare(r kernstash.Request) (*kernstash.Prepared[*Module, *Kernel], error) {
	c, r, err := x.normalize(r)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return c.Prepare(r)
}

// Preload builds or loads many programs in parallel and leaves them in memory.
func (x *Cached) Preload(ctx context.Context, requests ...kernstash.Request) error {
	by := make(map[*coreContext][]kernstash.Request)
	var failed error
	for i, r := range requests {
		c, r, err := x.normalize(r)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("preload request %d: %w", i, err))
			continue
		}
		by[c] = append(by[c], r)
	}
	for c, some := range by {
		failed = errors.Join(failed, c.Preload(ctx, some...))
	}
	return failed
}

// normalize returns which of the memory tiers a request is for, and the request with an architecture.
func (x *Cached) normalize(r kernstash.Request) (*coreContext, kernstash.Request, error) {
	switch kind, err := kindOf(r.Image); {
	case err != nil:
		return nil, r, err
	case kind == key.PTX:
		return x.linker, r, nil
	}
	l, err := x.nvrtc()
	if err != nil {
		return nil, r, err
	}
	if !namesArch(r.CompileOptions) && !namesArch(r.Image.CompileOptions) {
		r.CompileOptions = strings.TrimRight(archOption+x.device.Arch(l)+" "+r.CompileOptions, " ")
	}
	return x.compiler, r, nil
}

// kindOf returns what an image is of.
func kindOf(m *kernstash.Image) (key.Kind, error) {
	if m == nil || m.Image == nil {
		return 0, fmt.Errorf("%w: no image", kernstash.ErrInvalid)
	}
	units := m.Units()
	kind := units[0].Kind
	for _, u := range units {
		if u.Kind != kind {
			return 0, fmt.Errorf("%w: an image of %v and %v", ErrArgument, kind, u.Kind)
		}
	}
	switch {
	case kind == key.CUDACpp && len(units) > 1:
		return 0, fmt.Errorf("%w: NVRTC compiles one unit at a time, this image has %d", ErrArgument, len(units))
	case kind == key.CUDACpp, kind == key.PTX:
		return kind, nil
	default:
		return 0, fmt.Errorf("%w: CUDA builds no %v", ErrArgument, kind)
	}
}

// Linker returns the memory tier of PTX, for its limits.
func (x *Cached) Linker() *kernstash.Context[*Module, *Kernel] { return x.linker }

// Compiler returns the memory tier of CUDA C++, for its limits.
func (x *Cached) Compiler() (*kernstash.Context[*Module, *Kernel], error) {
	if _, err := x.nvrtc(); err != nil {
		return nil, err
	}
	return x.compiler, nil
}

// Clear evicts every program from memory. Programs in use stay with their users.
func (x *Cached) Clear() {
	x.compiler.Clear()
	x.linker.Clear()
}

// Close waits for builds in flight, and releases all programs and kernels, held or
// not; what is queued in the context is to be finished before. A context that
// NewContext opened is released with it.
func (x *Cached) Close() error {
	err := errors.Join(x.compiler.Close(), x.linker.Close()) // in this order: the one's modules are the other's
	if x.own {
		err = errors.Join(err, x.Context.Release())
	}
	return err
}
