package layer

import (
	"slices"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/spool"
)

// follow returns the launches of a program of parts, which are to be told.
func (j *jobs) follow(parts []part) *launches {
	p := &launches{jobs: j, kernels: make(map[string]*pocl.Launches), parts: parts}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell()
	return p
}

// launches are the kernels of a program as they were launched.
type launches struct {
	jobs *jobs

	mu      sync.Mutex
	kernels map[string]*pocl.Launches
	seen    []string // variants
	parts   []part   // the program, for each group of devices
}

// maxKernels bounds the kernels of a program that are noted.
const maxKernels = 4096

// launched takes a launch, see [Layer.Tell].
func (p *launches) launched(kernel string, dimensions [][3]uintptr) {
	if n := len(dimensions); n < 1 || n > 3 {
		return
	}
	offset, global, local := [3]uintptr{}, [3]uintptr{1, 1, 1}, &[3]uintptr{1, 1, 1}
	for i, d := range dimensions {
		offset[i], global[i], local[i] = d[0], d[1], d[2]
	}
	if local[0] == 0 {
		local = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kernels[kernel]
	if k == nil {
		if len(p.kernels) >= maxKernels {
			return
		}
		k = new(pocl.Launches)
		p.kernels[kernel] = k
	}
	v := k.Note(kernel, &global, local, &offset)
	if v == "" || len(p.seen) >= spool.MaxVariants {
		return
	}
	p.seen = append(p.seen, v)
	p.tell()
}

// tell leaves a job for launches that the artifact is not ready for, and for a
// program that has none, though it was not launched yet: many are asked for
// their work-group sizes only. Launches that it is ready for are no part of the job, or
// it would never be the one that a worker refused. The caller holds the lock.
func (p *launches) tell() {
	for _, part := range p.parts {
		fresh := slices.DeleteFunc(slices.Clone(p.seen), func(v string) bool { return slices.Contains(part.ready, v) })
		if len(fresh) > 0 || !part.there {
			p.jobs.add(part, spool.Capture, fresh)
		}
	}
}
