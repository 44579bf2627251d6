package build

import (
	"errors"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/store"
)

// finish makes machine code of the intermediate code that is stored.
func (b *builder) finish(rt *opencl.Runtime, stored *store.Artifact) (State, error) {
	if stored == nil {
		return Void, errors.New("the entry to finish is gone")
	}
	finished, err := rt.Finish(b.ctx, kernstash.Job{Devices: []int{0}, Recipe: b.job.Recipe}, stored)
	switch {
	case errors.Is(err, opencl.ErrElsewhere):
		return Elsewhere, err
	case err != nil:
		return Refused, err
	}
	return b.put(finished)
}
