package opencl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// RuntimeOptions change how programs are built; the zero value is right for nearly all.
type RuntimeOptions struct {
	// SpecializeLocalSizes makes a driver that makes code at launches (PoCL) make it at the build,
	// for every kernel at every one of these local sizes, so that an artifact is there without a
	// launch. A kernel that requires a size is made for that one. No artifact is there where the
	// driver makes none of it (POCL_WORK_GROUP_SPECIALIZATION=0), or where the process launches
	// kernels all the while. It is meant for programs that build ahead of time: to tell the driver,
	// the environment variable POCL_BINARY_SPECIALIZE_WG of this process is changed while a binary
	// is taken, which other code may see.
	SpecializeLocalSizes [][3]int

	// SpecializeVariants does the same for launches that were seen, by their names in
	// store.Artifact.Variants; those that name no size are left out. Where the driver chose the
	// local size it is asked again, by launching a kernel of this package over the global size.
	SpecializeVariants []string

	// CaptureUnlaunched takes the binary of such a driver at the build, though nothing was
	// launched: the artifact saves the front end's work, its Variants are empty. PoCL compiles each
	// kernel once more for that, for any local size, which can take longer than the build. Beside
	// SpecializeVariants it says what is to be done where the driver makes code for none of them.
	CaptureUnlaunched bool
}

// ahead reports whether code is made at the build.
func (o *RuntimeOptions) ahead() bool {
	return len(o.SpecializeLocalSizes)+len(o.SpecializeVariants) > 0 || o.CaptureUnlaunched
}

// Runtime makes a Context's compiler a kernstash.Runtime: it builds recipes,
// loads artifacts, and captures what a deferring driver made.
type Runtime struct {
	context *Context
	options RuntimeOptions
	kind    Kind
}

var (
	_ kernstash.Runtime[*Program, *Kernel]         = (*Runtime)(nil)
	_ capability.Capturer[*Program, kernstash.Job] = (*Runtime)(nil)
	_ capability.Delegator                         = (*Runtime)(nil)
	_ capability.HeaderSearcher[kernstash.Request] = (*Runtime)(nil)
	_ capability.OptionsChecker                    = (*Runtime)(nil)
)

// NewRuntime returns the Runtime of a context, which the caller releases after
// the kernstash.Context that uses the Runtime is closed.
func NewRuntime(c *Context, o RuntimeOptions) *Runtime {
	return &Runtime{context: c, options: o, kind: c.devices[0].Kind()}
}

// Devices returns the number of the context's devices.
func (r *Runtime) Devices() int { return len(r.context.devices) }

// Identify returns what decides how a device compiles.
func (r *Runtime) Identify(_ context.Context, device int) (key.Device, error) {
	return r.context.devices[device].Identify()
}

// Variables returns the environment variables that the device's compiler obeys,
// with an error if they changed since the driver was loaded.
func (r *Runtime) Variables(device int) ([]key.Pair, error) {
	return r.context.devices[device].SteadyVariables()
}

// HeaderSearch is Device.HeaderSearch of one of the context's devices.
func (r *Runtime) HeaderSearch(device int, dir string, _ kernstash.Request) (deps.Search, error) {
	return r.context.devices[device].HeaderSearch(dir)
}

// CheckOptions is Device.CheckOptions of one of the context's devices.
func (r *Runtime) CheckOptions(device int, words []string) error {
	return r.context.devices[device].CheckOptions(words)
}

// Defers reports whether a job's code is made at launches.
func (r *Runtime) Defers(kernstash.Job) bool { return r.kind == Deferred && !r.options.ahead() }

// Build compiles a recipe from source or SPIR-V. The artifact is nil on a driver that makes code at
// launches: nothing is asked of such a program that would make it compile more.
func (r *Runtime) Build(ctx context.Context, job kernstash.Job) (*Program, *store.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("build program: %w", context.Cause(ctx))
	}
	p, err := r.compile(job)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case p.defers == nil:
		return p, r.artifact(p, job), nil
	case r.options.ahead():
		a := p.defers.Prepare(p.asked(), driver.Ahead{
			LocalSizes: r.options.SpecializeLocalSizes, Variants: r.options.SpecializeVariants, Unlaunched: r.options.CaptureUnlaunched,
			LocalSize: func(global [3]uintptr) ([3]uint32, error) { return r.localSize(job.Devices[:1], global) },
		})
		if a != nil {
			a.Log = p.log
		}
		return p, a, nil
	}
	return p, nil, nil
}

func (r *Runtime) compile(job kernstash.Job) (*Program, error) {
	p, ids, err := r.shell(job)
	if err != nil {
		return nil, fmt.Errorf("build program: %w", err)
	}
	b := compilation{context: cl.ContextID(r.context.Handle()), devices: ids, recipe: job.Recipe, noIL: p.devices[0].ILVersion == ""}
	id, log, err := b.run()
	if err != nil {
		return nil, err
	}
	p.log = log
	p.set("program", uintptr(id), "clReleaseProgram")
	return p, nil
}

// shell returns the program of a job without its handle, and the devices'.
func (r *Runtime) shell(job kernstash.Job) (*Program, []cl.DeviceID, error) {
	if _, err := r.context.get(); err != nil {
		return nil, nil, err
	}
	p := &Program{defers: r.context.devices[0].platform.deferrer()}
	var ids []cl.DeviceID
	for _, i := range job.Devices {
		if i < 0 || i >= len(r.context.devices) {
			return nil, nil, fmt.Errorf("%w: device %d of %d", ErrArgument, i, len(r.context.devices))
		}
		d := r.context.devices[i]
		p.devices, ids = append(p.devices, d), append(ids, d.id())
	}
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("%w: no device", ErrArgument)
	}
	return p, ids, nil
}

// artifact takes what a build made on a driver that is done after it. It is
// nil where the driver gives no binary: the program works, uncached.
func (r *Runtime) artifact(p *Program, job kernstash.Job) *store.Artifact {
	binary, err := p.Binary()
	if err != nil || len(binary) == 0 || isBuild(job.Recipe) && FromDriversCache(job.Recipe, binary) {
		return nil
	}
	kernels, err := p.describe()
	if err != nil {
		return nil
	}
	form := store.FormFinal
	if r.kind == Intermediate {
		form = store.FormIntermediate
	}
	return &store.Artifact{Binaries: []store.Binary{{Form: form, Data: binary}}, Log: p.log, Kernels: kernels}
}

// Load makes a live program of an artifact's first binary. The driver refuses what was made by
// another one; a program whose kernels are not those of the artifact is refused here.
func (r *Runtime) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*Program, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load program: %w", context.Cause(ctx))
	}
	p, ids, err := r.shell(job)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	if len(a.Binaries) == 0 || len(a.Binaries[0].Data) == 0 {
		return nil, fmt.Errorf("load program: %w: no binary", ErrArgument)
	}
	binary := a.Binaries[0].Data
	if p.defers != nil {
		if binary, err = p.defers.Loadable(p.devices[0].platform.asked(), binary); err != nil {
			return nil, fmt.Errorf("load program: %w", err)
		}
	}
	id, err := cl.CreateProgramWithBinary(cl.ContextID(r.context.Handle()), ids, binary)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", resources(err))
	}
	p.set("program", uintptr(id), "clReleaseProgram")
	p.log = a.Log
	if err = resources(cl.BuildProgram(id, ids, compileOptions(job.Recipe))); err == nil {
		err = p.checkKernels(a.Kernels)
	}
	if err != nil {
		return nil, fmt.Errorf("load program: %w", errors.Join(err, p.Release()))
	}
	return p, nil
}

// errKernels is wrapped when a binary holds other kernels than its artifact says.
var errKernels = errors.New("kernels differ from those recorded")

func (p *Program) checkKernels(recorded []store.Kernel) error {
	if len(recorded) == 0 {
		return nil
	}
	want := make([]string, len(recorded))
	for i, k := range recorded {
		want[i] = k.Name
	}
	slices.Sort(want)
	names, err := p.KernelNames()
	slices.Sort(names)
	if err == nil && !slices.Equal(names, want) {
		err = fmt.Errorf("%w: %q, not %q", errKernels, names, want)
	}
	return err
}

// Kernel makes the kernel of a name.
func (r *Runtime) Kernel(p *Program, name string) (*Kernel, error) { return p.NewKernel(name) }

// ReleaseProgram gives a program back.
func (r *Runtime) ReleaseProgram(p *Program) { _ = p.Release() }

// ReleaseKernel gives a kernel back.
func (r *Runtime) ReleaseKernel(k *Kernel) { _ = k.Release() }
