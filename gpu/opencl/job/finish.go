package job

import (
	"errors"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

// finish makes machine code of the intermediate code that is stored.
func (b *builder) finish(rt *opencl.Runtime, stored *store.Artifact) (spool.JobState, error) {
	if stored == nil {
		return spool.JobVoid, errors.New("the entry to finish is gone")
	}
	finished, err := rt.Finish(b.ctx, kernstash.Job{Devices: []int{0}, Recipe: b.job.Recipe}, stored)
	switch {
	case errors.Is(err, opencl.ErrElsewhere):
		return spool.JobElsewhere, err
	case err != nil:
		return spool.JobRefused, err
	}
	return b.put(finished)
}
