package rtc

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/arithmetic"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Runtime makes a Library a kernstash.Runtime whose programs are outputs. Requests
// are those of [Library.Core].
type Runtime struct{ Library *Library }

var (
	_ kernstash.Runtime[*Output, struct{}] = Runtime{}
	_ kernstash.HeaderSearcher             = Runtime{}
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
	o, err := r.Library.Compile(q)
	if err != nil {
		return nil, nil, err
	}
	if !plain || r.Library.Confirm() != nil {
		return o, nil, nil
	}
	a, err := o.Artifact(job.Recipe)
	return o, a, err
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

// NameDir returns the directory part of a program's name, as it is written.
func NameDir(name string) string {
	dir, _ := filepath.Split(name)
	return dir
}
