package rtc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/arithmetic"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Runtime makes a Library a kernstash.Runtime whose programs are outputs. Requests
// are those of [Library.Core].
type Runtime struct{ Library *Library }

var (
	_ kernstash.Runtime[*Output, struct{}]         = Runtime{}
	_ capability.HeaderSearcher[kernstash.Request] = Runtime{}
)

// Devices returns 1.
func (Runtime) Devices() int { return 1 }

// Identify returns what decides how the library compiles.
func (r Runtime) Identify(context.Context, int) (key.Device, error) { return r.Library.Identify() }

// Variables returns the environment variables that the library obeys.
func (r Runtime) Variables(int) ([]key.Pair, error) { return r.Library.Variables() }

// HeaderSearch returns where the library looks for header files.
func (r Runtime) HeaderSearch(_ int, dir string, q kernstash.Request) (deps.Search, error) {
	return r.Library.headerSearch(dir, nameOf(q.Attributes, q.Unkeyed), func() []key.Unit { return q.Image.Units() })
}

// Host answers the engine's questions by a library.
type Host struct {
	cache.Process
	Runtime
}

// HeaderSearch returns where the library looks for header files.
func (h Host) HeaderSearch(_ int, dir string, r engine.Request) (deps.Search, error) {
	return h.Library.headerSearch(dir, nameOf(r.Attributes, r.Unkeyed), func() []key.Unit { return r.Image.Units() })
}

// Build compiles.
func (r Runtime) Build(_ context.Context, job kernstash.Job) (*Output, *store.Artifact, error) {
	q, err := FromRecipe(job.Recipe)
	if err != nil {
		return nil, nil, fmt.Errorf("build: %w", err)
	}
	runtime.LockOSThread() // whose arithmetic the library folds constants with
	defer runtime.UnlockOSThread()
	plain := arithmetic.Default()
	o, unfit, err := r.Library.compile(q, !job.Key.IsZero())
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !plain || r.Library.Confirm() != nil:
		return o, nil, nil
	case unfit != nil:
		return o, nil, unfit
	}
	a, err := o.Artifact(job.Recipe)
	return o, a, err
}

// errOwnCache says why what a library that refuses noOwnCache made is not kept.
var errOwnCache = &kernstash.UnfitError{Why: "NVRTC takes what it makes from a cache of its own"}

// compile is Compile of what is to be kept, or not. unfit says why it must not be.
func (l *Library) compile(r Request, kept bool) (o *Output, unfit, err error) {
	if !kept || !l.hasOwnCache(r.Options) {
		o, err = l.Compile(r)
	} else {
		without := r
		without.Options = append(slices.Clip(r.Options), noOwnCache)
		o, err = l.Compile(without)
		if refused := new(kernstash.BuildError); errors.As(err, &refused) && refused.Code == codeInvalidOption { // that one maybe
			o, err = l.Compile(r)
			unfit = errOwnCache
		}
	}
	if unfit == nil && isRestricted(l.fn("CompileProgram"), r.Options) {
		unfit = errRestricted
	}
	return o, unfit, err
}

// Load returns the output of an artifact.
func (r Runtime) Load(_ context.Context, job kernstash.Job, a *store.Artifact) (*Output, error) {
	return FromArtifact(a, NameOf(job.Recipe))
}

// Kernel returns nothing: outputs are bytes.
func (Runtime) Kernel(*Output, string) (struct{}, error) { return struct{}{}, nil }

// ReleaseProgram does nothing.
func (Runtime) ReleaseProgram(*Output) {}

// ReleaseKernel does nothing.
func (Runtime) ReleaseKernel(struct{}) {}

// Compiler compiles through a cache. It is safe for concurrent use.
type Compiler struct {
	library *Library
	core    *kernstash.Context[*Output, struct{}]
}

// NewCompiler returns a Compiler of a library. Close it before the cache.
func NewCompiler(c *kernstash.Cache, l *Library, o kernstash.ContextOptions) *Compiler {
	o.OptionsAsGiven = true
	return &Compiler{l, kernstash.NewContext(c, Runtime{l}, o)}
}

// Library returns the library.
func (c *Compiler) Library() *Library { return c.library }

// Compile returns what compiling makes: from memory, else from disk, else by the library. Errors
// are those of Library.Compile, of ctx, and kernstash.ErrClosed; never the cache's.
func (c *Compiler) Compile(ctx context.Context, r Request) (*Output, error) {
	q, err := c.library.Core(r)
	if err != nil || !arithmetic.Default() { // here, and not in a program that others ask for
		return c.library.Compile(r)
	}
	p, err := c.core.Program(ctx, q)
	if refused := new(kernstash.BuildError); errors.As(err, &refused) && refused.Code == codeInvalidOption && !c.library.d.links {
		return c.library.Compile(r) // the one of its options that is refused first, by their own order
	}
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.Native(0)
}

// Context returns the core's context. It is the Compiler's to close.
func (c *Compiler) Context() *kernstash.Context[*Output, struct{}] { return c.core }

// Close waits for what is under way. After it every call returns kernstash.ErrClosed.
func (c *Compiler) Close() error { return c.core.Close() }
