package layer

import (
	"slices"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/variant"
	"github.com/kernstash/kernstash/spool"
)

// programs are those whose launches are to be told, by number.
type programs struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]*launches
}

// maxPrograms bounds those that are told apart: an application that never gives
// a program up must not fill its memory with what we note of it.
const maxPrograms = 4096

// add returns a new program and its number; 0 where there are too many.
func (s *programs) add(l *Layer) (*launches, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxPrograms || !l.door.Cache.Writes() {
		return nil, 0
	}
	if s.all == nil {
		s.all = make(map[uint64]*launches)
	}
	s.last++
	s.all[s.last] = &launches{jobs: &l.jobs, kernels: make(map[string]*variant.Launches)}
	return s.all[s.last], s.last
}

// number returns a number that no program has.
func (s *programs) number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

func (s *programs) find(id uint64) *launches {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// launches are the kernels of a program as they were launched.
type launches struct {
	jobs *jobs

	mu      sync.Mutex
	kernels map[string]*variant.Launches
	seen    []string // variants
	known   bool     // parts says what the program is
	parts   []part
}

// maxKernels bounds the kernels of a program that are noted.
const maxKernels = 4096

// note takes a launch. Sizes of dimensions that are not used are 1, offsets 0.
func (p *launches) note(kernel string, offset, global, local *[3]uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kernels[kernel]
	if k == nil {
		if len(p.kernels) >= maxKernels {
			return
		}
		k = new(variant.Launches)
		p.kernels[kernel] = k
	}
	v := k.Note(kernel, global, local, offset)
	if v == "" || len(p.seen) >= spool.MaxVariants {
		return
	}
	p.seen = append(p.seen, v)
	if p.known {
		p.tell()
	}
}

// know takes what the program is; nothing where nothing is to be stored.
func (p *launches) know(steps []*step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = true
	for _, s := range steps {
		if s.kind == opencl.Deferred {
			p.parts = append(p.parts, newPart(s))
		}
	}
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

// Launched tells of a launch of a kernel of a program, by its number, in 1 to 3
// dimensions. Local is nil where the driver chooses, offset nil for zero.
func (l *Layer) Launched(program uint64, kernel string, offset, global, local []uintptr) {
	p := l.programs.find(program)
	n := len(global)
	if p == nil || n < 1 || n > 3 || local != nil && len(local) != n || offset != nil && len(offset) != n {
		return
	}
	p.note(kernel, space(offset, 0), space(global, 1), space(local, 1))
}

// space fills the dimensions up that are not used.
func space(sizes []uintptr, unused uintptr) *[3]uintptr {
	if sizes == nil {
		return nil
	}
	full := [3]uintptr{unused, unused, unused}
	copy(full[:], sizes)
	return &full
}

// Released tells that the application has given a program, or a compiled unit, up.
func (l *Layer) Released(program uint64) {
	l.programs.mu.Lock()
	defer l.programs.mu.Unlock()
	delete(l.programs.all, program)
	l.compiled.remove(program)
	l.answers.remove(program)
}
