package kernstash

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Compiler is a Runtime for a compiler of one's own, without any GPU: what it
// makes is bytes, and a live program is these bytes.
//
//	x := kernstash.NewContext(cache, kernstash.Compiler{Device: id, Compile: f}, kernstash.ContextOptions{})
//	p, err := x.Program(ctx, kernstash.Request{Image: img})
//	code, err := p.Native(0)
type Compiler struct {
	// Device says what decides the output besides the request: at least the
	// compiler's name and version.
	Device key.Device

	// Compile makes the output. It must depend on nothing but the recipe and
	// Device. A *BuildError is kept and given to all who ask; other errors are
	// tried again.
	Compile func(ctx context.Context, r *key.Recipe) ([]byte, error)

	// Headers says where Compile looks for header files besides the directories
	// that options name, for images of a kind that has any (OpenCL C, CUDA C++,
	// HIP C++). Nil: not known; images that read header files are uncacheable.
	Headers func(dir string) (deps.Search, error)
}

var (
	_ Runtime[[]byte, struct{}]          = Compiler{}
	_ capability.HeaderSearcher[Request] = Compiler{}
)

// Devices returns 1.
func (Compiler) Devices() int { return 1 }

// Identify returns c.Device.
func (c Compiler) Identify(context.Context, int) (key.Device, error) { return c.Device, nil }

// Variables returns none.
func (Compiler) Variables(int) ([]key.Pair, error) { return nil, nil }

// HeaderSearch calls c.Headers.
func (c Compiler) HeaderSearch(_ int, dir string, _ Request) (deps.Search, error) {
	if c.Headers == nil {
		return deps.Search{}, errSearch
	}
	return c.Headers(dir)
}

// Build calls c.Compile.
func (c Compiler) Build(ctx context.Context, job Job) ([]byte, *store.Artifact, error) {
	out, err := c.Compile(ctx, job.Recipe)
	if err != nil {
		return nil, nil, err
	}
	return out, &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: out}}}, nil
}

// Load returns the bytes of the artifact.
func (Compiler) Load(_ context.Context, _ Job, a *store.Artifact) ([]byte, error) {
	return a.Binaries[0].Data, nil
}

// Kernel returns nothing: bytes have no kernels.
func (Compiler) Kernel([]byte, string) (struct{}, error) { return struct{}{}, nil }

// ReleaseProgram does nothing: bytes are the garbage collector's.
func (Compiler) ReleaseProgram([]byte) {}

// ReleaseKernel does nothing.
func (Compiler) ReleaseKernel(struct{}) {}
