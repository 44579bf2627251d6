package kernstash

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Job is one build: for one device of a context, or for several of equal
// identity (two equal sub-devices), which share what is built.
type Job struct {
	Devices []int       // ordinals among the devices of the context, at least one
	Recipe  *key.Recipe // what to build; not to be changed
	Key     key.Key     // of the recipe; zero where what is built is not to be stored
}

// Runtime is what kernstash needs of a GPU runtime: two functions that make a
// live program, Build from a recipe and Load from an artifact, and what
// surrounds them. P and K are live objects of one context: driver handles.
//
// All methods are called from many goroutines at once. A context that is
// passed in may be cancelled when nobody waits for the result any more; a
// driver call that cannot be cancelled may ignore that.
//
// A Runtime with a method
//
//	HeaderSearch(device int, dir string, r Request) (deps.Search, error)
//
// knows where its compiler looks for header files besides the directories that options
// name, while dir is the working directory. Programs that read header files are cacheable
// with such a Runtime alone.
type Runtime[P, K any] interface {
	// Devices returns the number of devices of the context, at most 64.
	Devices() int

	// Identify returns what decides how a device compiles. It is called once
	// per device; an error makes the device's programs uncacheable.
	Identify(ctx context.Context, device int) (key.Device, error)

	// Variables returns the environment variables, with their values, that the
	// device's compiler obeys in this process at this moment. An error makes
	// the build uncacheable: they changed since the driver may have read them.
	Variables(device int) ([]key.Pair, error)

	// Build compiles. A diagnostic of the compiler is returned as a
	// *BuildError; ErrOutOfResources is wrapped when the context has run out.
	// The artifact is nil where the driver makes it later or
	// where it cannot be had; its Cost and Created may be left zero. P serves
	// all of the job's devices, and the compiler runs once for all of them. With an
	// *UnfitError there is a P, and no artifact: what was built is not stored. A P
	// without an artifact that has a method KernelNames() ([]string, error) is called
	// by these names in reports and records.
	Build(ctx context.Context, job Job) (P, *store.Artifact, error)

	// Load makes a live program from an artifact of the same key. An error is
	// a miss, and the artifact counts as bad, except when it wraps
	// ErrOutOfResources or ErrAbandoned.
	Load(ctx context.Context, job Job, a *store.Artifact) (P, error)

	// Kernel makes the kernel of a name.
	Kernel(p P, name string) (K, error)

	// ReleaseProgram and ReleaseKernel give a live object back. Each object is
	// released once, its kernels before the program.
	ReleaseProgram(P)
	ReleaseKernel(K)
}

var errSearch = errors.New("where the compiler looks for header files is not known")

// BuildError is a diagnostic of the compiler: the program is wrong, and
// building it again gives the same error. It is kept as long as its image and
// given to all who ask.
type BuildError struct {
	Code int    // the runtime's own code
	Log  string // the build log
	Err  error  // what failed; may be nil
}

func (e *BuildError) Error() string {
	s := "build program: the compiler refused it"
	if e.Err != nil {
		s = "build program: " + e.Err.Error()
	}
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

func (e *BuildError) Unwrap() error { return e.Err }

// UnfitError is returned by a Runtime's Build, beside the program, where what was built
// turned out not to be fit for others.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return ErrNotCacheable.Error() + ": " + e.Why }

// Unwrap returns ErrNotCacheable.
func (e *UnfitError) Unwrap() error { return ErrNotCacheable }

// ErrOutOfResources is wrapped by a Runtime's errors when device or host ran
// out of memory or of another resource. The memory tier of the context is
// cleared, and the build tried once more.
var ErrOutOfResources = errors.New("out of resources")

// ErrAbandoned is wrapped by a Runtime's Build and Load when they were given up:
// nothing is known of the program or the artifact, and callers that wait for it go on.
var ErrAbandoned = errors.New("given up")

// ErrBusy is wrapped by an adapter's error when launches are under way: asking
// the driver for the code of a program now would delay them, or worse.
var ErrBusy = errors.New("launches are under way")

// ErrClosed is wrapped by every call on a closed Cache, Context or Program.
var ErrClosed = live.ErrClosed

// ErrNotCacheable may be wrapped by the error of Runtime.Identify
// to say that there is nothing wrong, but nothing to store.
var ErrNotCacheable = engine.ErrNotCacheable

// host answers the engine's questions by a Runtime, and by what the process is.
type host[P, K any] struct {
	cache.Process
	Runtime[P, K]
}

func (h host[P, K]) CheckOptions(device int, words []string) error {
	if checker, ok := any(h.Runtime).(capability.OptionsChecker); ok {
		return checker.CheckOptions(device, words)
	}
	return nil
}

func (h host[P, K]) HeaderSearch(device int, dir string, r engine.Request) (deps.Search, error) {
	if searcher, ok := any(h.Runtime).(capability.HeaderSearcher[Request]); ok {
		return searcher.HeaderSearch(device, dir, requestOf(r))
	}
	return h.Process.HeaderSearch(device, dir, r)
}

func (h host[P, K]) Delivery(job engine.Job) engine.Delivery {
	if c, ok := any(h.Runtime).(capability.Capturer[P, Job]); ok && c.Defers(Job(job)) {
		return engine.AtLaunch
	}
	return engine.AtBuild
}
