package opencl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Delegates reports that a worker can make captures, too, as package worker/build does.
func (r *Runtime) Delegates() bool { return true }

// Capture takes the binary of a program whose driver makes code at launches, with the code of the
// launches so far. What a driver answers first it answers for the life of the program, and a
// program that was loaded answers with what it was loaded from; so after that (again) the recipe is
// built once more, which costs tens of milliseconds while the driver's own cache is on, and that
// program, having all that the driver's cache holds, answers.
//
// It waits until nothing is under way on the queues of this package, and gives
// up with kernstash.ErrBusy when something is launched meanwhile. While the
// driver answers, launches of this process wait.
//
// The artifact's Variants are those of variants that are found in the binary. Where none is, as
// with POCL_KERNEL_CACHE=0 when again, the error wraps kernstash.ErrNotCacheable; so does it when
// again, and the environment variables that the compiler obeys are not those of the recipe.
func (r *Runtime) Capture(ctx context.Context, job kernstash.Job, p *Program, variants []string, again bool) (*store.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("capture program: %w", context.Cause(ctx))
	}
	source := p
	if again {
		if v, err := r.Variables(job.Devices[0]); err != nil || !slices.Equal(v, job.Recipe.Options.Variables) {
			// A twin would not be what the recipe says.
			return nil, fmt.Errorf("capture program: build it again: %w: %w", kernstash.ErrNotCacheable, drivers.ErrVariables)
		}
		twin, err := r.compile(job)
		if err != nil {
			return nil, fmt.Errorf("capture program: build it again: %w", err)
		}
		defer func() { _ = twin.Release() }()
		source = twin
	}
	if source.defers == nil {
		return nil, fmt.Errorf("capture program: %w: the driver makes no code at launches", kernstash.ErrNotCacheable)
	}
	a, err := source.defers.Capture(source.asked(), variants)
	if err != nil {
		return nil, fmt.Errorf("capture program: %w", resources(err))
	}
	a.Log = p.log
	if len(variants) > 0 && len(a.Variants) == 0 {
		return nil, fmt.Errorf("capture program: %w: the driver keeps no code of its launches", kernstash.ErrNotCacheable)
	}
	return a, nil
}

// ErrElsewhere is wrapped by Finish where this machine cannot do it, and another one may.
var ErrElsewhere = driver.ErrElsewhere

// Finish makes machine code of an artifact whose code is intermediate (NVIDIA's PTX), so that a
// restore need not assemble it again: 2 ms in the place of 960 for a program of 930 KB of PTX on an
// H200. The returned artifact has both, the machine code first. It is what the driver takes for the
// same program: it was loaded, and has the same kernels with the same arguments.
//
// The assembler is that of the driver, with its defaults; what was built with options that reach
// the assembler stays as it is, with an error that wraps kernstash.ErrNotCacheable.
func (r *Runtime) Finish(ctx context.Context, job kernstash.Job, a *store.Artifact) (*store.Artifact, error) {
	if len(job.Devices) == 0 || job.Devices[0] >= len(r.context.devices) {
		return nil, fmt.Errorf("finish program: %w: no device", ErrArgument)
	}
	d := r.context.devices[job.Devices[0]]
	nvidia, assembles := d.platform.driver().Driver.(driver.NVIDIA)
	at := slices.IndexFunc(a.Binaries, func(b store.Binary) bool { return b.Form == store.FormIntermediate })
	if at < 0 || !assembles {
		return nil, fmt.Errorf("finish program: %w: its code is not intermediate", kernstash.ErrNotCacheable)
	}
	code, err := nvidia.Assemble(d.asked(), job.Recipe.Options, a.Binaries[at].Data)
	if err != nil {
		return nil, fmt.Errorf("finish program: %w", err)
	}
	finished := *a
	finished.Binaries = []store.Binary{{Form: store.FormFinal, Data: code}, a.Binaries[at]}
	p, err := r.Load(ctx, job, &finished)
	if err != nil {
		return nil, fmt.Errorf("finish program: %w", err)
	}
	kernels, err := p.describe()
	if err = errors.Join(err, p.Release()); err != nil {
		return nil, fmt.Errorf("finish program: %w", err)
	}
	if name := otherArguments(a.Kernels, kernels); name != "" {
		return nil, fmt.Errorf("finish program: %w: %s has other arguments", errKernels, name)
	}
	return &finished, nil
}

// otherArguments returns the name of a kernel whose arguments differ from those
// that were recorded. The driver tells them of what was built from source, and
// may not of machine code; what it tells must be the same.
func otherArguments(recorded, loaded []store.Kernel) string {
	for _, k := range loaded {
		at := slices.IndexFunc(recorded, func(r store.Kernel) bool { return r.Name == k.Name })
		if at < 0 || len(k.Args) > 0 && !slices.Equal(k.Args, recorded[at].Args) {
			return k.Name
		}
	}
	return ""
}

// maxProbe bounds the work-items of a launch that only asks for a local size.
const maxProbe = 1 << 32

// probeSource tells which local size the driver chose.
const probeSource = `__kernel void kernstash_local_size(__global uint *size) {
	if (get_global_id(0) == 0 && get_global_id(1) == 0 && get_global_id(2) == 0)
		for (uint i = 0; i < 3; i++)
			size[i] = (uint)get_local_size(i);
}
`

// localSize returns the local size that the driver of a device chooses for a global size, by
// launching a kernel of ours: PoCL 3.1 goes by the device and the global size alone, and there is
// nothing to ask it.
func (r *Runtime) localSize(device []int, global [3]uintptr) (local [3]uint32, err error) {
	n, sizes := uintptr(1), make([]int, len(global))
	for i, size := range global {
		if size < 1 || size > maxProbe/n {
			return local, fmt.Errorf("launch over %v: no work-items, or too many", global)
		}
		n *= size
		sizes[i] = int(size)
	}
	image, err := key.NewImage(key.OpenCLC, []byte(probeSource))
	if err != nil {
		return local, err
	}
	options := key.BuildOptions{Absent: true}
	p, err := r.compile(kernstash.Job{Devices: device, Recipe: &key.Recipe{Image: image, Options: options}})
	if err != nil {
		return local, err
	}
	defer func() { _ = p.Release() }()
	k, err := p.NewKernel("kernstash_local_size")
	if err != nil {
		return local, err
	}
	defer func() { _ = k.Release() }()
	b, err := r.context.NewBuffer(WriteOnly, len(Bytes(local[:])))
	if err != nil {
		return local, err
	}
	defer func() { _ = b.Release() }()
	q, err := r.context.NewQueue(p.devices[0], QueueOptions{})
	if err != nil {
		return local, err
	}
	defer func() { _ = q.Release() }()
	err = errors.Join(k.Launch(q, sizes, nil, b), q.Read(b, 0, Bytes(local[:])))
	return local, err
}
