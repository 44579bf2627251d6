package opencl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/store"
)

// ErrElsewhere is wrapped by Finish where this machine cannot do it, and another
// one may.
var ErrElsewhere = driver.ErrElsewhere

// Finish makes machine code of an artifact whose code is intermediate
// (NVIDIA's PTX), so that a restore need not assemble it again: 2 ms in the
// place of 960 for a program of 930 KB of PTX on an H200. The returned artifact
// has both, the machine code first. It is what the driver takes for the same
// program: it was loaded, and has the same kernels with the same arguments.
//
// The assembler is that of the driver, with its defaults; what was built with
// options that reach the assembler stays as it is, with an error that wraps
// kernstash.ErrNotCacheable.
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
