package opencl

import (
	"context"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/store"
)

// Delegates reports that a worker can make captures, too, as package worker/build does.
func (r *Runtime) Delegates() bool { return true }

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
