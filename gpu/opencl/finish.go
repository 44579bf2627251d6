package opencl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/ptx"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// ErrElsewhere is wrapped by Finish where this machine cannot do it, and another
// one may.
var ErrElsewhere = errors.New("not to be finished here")

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
	at := slices.IndexFunc(a.Binaries, func(b store.Binary) bool { return b.Form == store.FormIntermediate })
	if at < 0 || r.kinds[job.Devices[0]] != Intermediate {
		return nil, fmt.Errorf("finish program: %w: its code is not intermediate", kernstash.ErrNotCacheable)
	}
	if word := assemblerOption(job.Recipe.Options); word != "" {
		return nil, fmt.Errorf("finish program: %w: %s is for the assembler too", kernstash.ErrNotCacheable, word)
	}
	d := r.context.devices[job.Devices[0]]
	cubin, err := ptx.Assemble(a.Binaries[at].Data, d.capability())
	var refused *ptx.Error
	switch {
	case errors.As(err, &refused) && refused.Log != "":
		return nil, fmt.Errorf("finish program: %w", err)
	case err != nil:
		return nil, fmt.Errorf("finish program: %w: %w", ErrElsewhere, err)
	}
	finished := *a
	finished.Binaries = []store.Binary{{Form: store.FormFinal, Data: cubin}, a.Binaries[at]}
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

// capability is the compute capability, as "9.0"; "" where there is none.
func (d *Device) capability() string {
	for _, t := range d.traits() {
		if t.Name == "compute capability" {
			return t.Value
		}
	}
	return ""
}

// assemblerOption returns the first build option that changes what NVIDIA's
// driver makes of PTX: its own (cl_nv_compiler_options), and those against
// optimisation and for debuggers.
func assemblerOption(o key.BuildOptions) string {
	for _, word := range slices.Concat(o.Compile, o.Link) {
		if strings.HasPrefix(word, "-cl-nv-") || word == "-cl-opt-disable" || word == "-g" {
			return word
		}
	}
	return ""
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
