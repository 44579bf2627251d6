package opencl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/variant"
	"github.com/kernstash/kernstash/store"
)

// Capture takes the binary of a program whose driver makes code at launches,
// with the code of the launches so far. What a driver answers first it answers
// for the life of the program, and a program that was loaded answers with what
// it was loaded from; so after that (again) the recipe is built once more, which
// costs tens of milliseconds while the driver's own cache is on, and that
// program, having all that the driver's cache holds, answers.
//
// It waits until nothing is under way on the queues of this package, and gives
// up with kernstash.ErrBusy when something is launched meanwhile. While the
// driver answers, launches of this process wait.
//
// The artifact's Variants are those of variants that are found in the binary.
// Where none is, as with POCL_KERNEL_CACHE=0 when again, the error wraps
// kernstash.ErrNotCacheable; so does it when again, and the environment variables
// that the compiler obeys are not those of the recipe.
func (r *Runtime) Capture(ctx context.Context, job kernstash.Job, p *Program, variants []string, again bool) (*store.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("capture program: %w", context.Cause(ctx))
	}
	source := p
	if again {
		if v, err := r.Variables(job.Devices[0]); err != nil || !slices.Equal(v, job.Recipe.Options.Variables) {
			// A twin would not be what the recipe says.
			return nil, fmt.Errorf("capture program: build it again: %w: %w", kernstash.ErrNotCacheable, errVariables)
		}
		twin, err := r.compile(job)
		if err != nil {
			return nil, fmt.Errorf("capture program: build it again: %w", err)
		}
		defer func() { _ = twin.Release() }()
		source = twin
	}
	var a *store.Artifact
	err := deferredLaunches.alone(func() (err error) {
		a, err = source.capture()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("capture program: %w", err)
	}
	a.Log = p.log
	for _, v := range variants {
		if holds(a.Binaries[0].Data, v) {
			a.Variants = append(a.Variants, v)
		}
	}
	if len(variants) > 0 && len(a.Variants) == 0 {
		return nil, fmt.Errorf("capture program: %w: the driver keeps no code of its launches", kernstash.ErrNotCacheable)
	}
	return a, nil
}

// capture asks a deferring driver for all it has. Launches must not be under
// way.
func (p *Program) capture() (*store.Artifact, error) {
	binary, err := p.binary()
	if err != nil {
		return nil, err
	}
	if len(binary) == 0 {
		return nil, fmt.Errorf("%w: the driver gives no binary", kernstash.ErrNotCacheable)
	}
	kernels, err := p.describe()
	if err != nil {
		return nil, err
	}
	return &store.Artifact{Binaries: []store.Binary{{Form: store.FormDeferred, Data: binary}}, Log: p.log, Kernels: kernels}, nil
}

// holds says whether a PoCL binary holds the code of a variant. It is a dump of
// the driver's directory of the program: file names such as
// "/add/64-1-1-goffs0-smallgrid/add.so", each in front of its content. Where
// the driver chose the local size, any version of the kernel but the generic
// one, "0-0-0", may be the one that it chose.
func holds(binary []byte, name string) bool {
	kernel, size, _ := strings.Cut(name, "/")
	if !strings.HasPrefix(size, variant.Auto) {
		return bytes.Contains(binary, []byte("/"+name+"/"))
	}
	for dir := []byte("/" + kernel + "/"); ; {
		i := bytes.Index(binary, dir)
		if i < 0 {
			return false
		}
		binary = binary[i+len(dir):]
		if len(binary) > 0 && binary[0] >= '1' && binary[0] <= '9' {
			return true
		}
	}
}
