package layer

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl/internal/randomname"
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
)

// part is a program for one group of devices, as far as a job tells of it.
type part struct {
	recipe *key.Recipe
	ready  []string // launches that the artifact is ready for
	there  bool     // there is an artifact
	log    string   // of the build
	cost   time.Duration
}

// jobs leaves work for the worker, off the application's path. Of what one
// program after the other brings, each launch is left once.
type jobs struct {
	frontEnd inprocess.FrontEnd
	told     func() // that there is one; may be nil

	mu    sync.Mutex
	left  map[string][]string // by the job's name: the launches that were left
	waits int                 // jobs that are to be written
	last  chan struct{}       // closed when the last of them is; nil: there was none
}

// Bounds.
const (
	maxLeft    = 4096 // jobs that are remembered; others are left again, which changes nothing in the spool
	maxWaiting = 256  // jobs that are to be written
	maxKernels = 4096 // kernels of a program that are noted
)

// add leaves a program to be built, for launches, or to be finished.
func (j *jobs) add(p part, kind spool.Kind, variants []string) {
	if !j.frontEnd.Cache.Writes() || randomname.IsIn(p.log) {
		return
	}
	job := spool.Job{
		Kind: kind, Recipe: p.recipe, Variants: variants,
		Log: p.log, HasLog: true, Cost: p.cost, Stored: p.there && kind == spool.Capture,
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	name := job.Name()
	left, known := j.left[name]
	fresh := !known || slices.ContainsFunc(variants, func(v string) bool { return !slices.Contains(left, v) })
	if !fresh || j.waits >= maxWaiting {
		return
	}
	if len(j.left) >= maxLeft {
		clear(j.left)
	}
	j.left[name] = slices.Compact(slices.Sorted(slices.Values(append(left, variants...))))
	job.Variants = j.left[name]
	j.write(job)
}

// write writes a job in a goroutine of its own, after those before; the caller holds the lock.
func (j *jobs) write(job spool.Job) {
	before, done := j.last, make(chan struct{})
	j.waits, j.last = j.waits+1, done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		_ = j.frontEnd.Guard(func() error { return j.leave(job) })
		j.mu.Lock()
		defer j.mu.Unlock()
		j.waits--
	}()
}

func (j *jobs) leave(job spool.Job) error {
	dir, _ := os.Getwd() // "": not known
	job.Environment = spool.Take(dl.Environ(), job.Recipe, dir)
	result, err := j.frontEnd.Cache.AddJob(context.Background(), job)
	if err != nil {
		j.frontEnd.Cache.Warn("job not left for the worker", "reason", err.Error())
		return err
	}
	if result.Waits() && j.told != nil {
		j.told()
	}
	if result == spool.Added {
		j.frontEnd.Report(runlog.Event{Kind: runlog.Job, Key: job.Key().Short(), Label: names(job.Variants)})
	}
	j.frontEnd.Counted()
	return nil
}

// names returns the kernels of launches that are sorted, each once.
func names(variants []string) string {
	all := make([]string, len(variants))
	for i, v := range variants {
		all[i], _, _ = strings.Cut(v, "/")
	}
	return strings.Join(slices.Compact(all), ", ")
}

// wait waits until every job is written.
func (j *jobs) wait() {
	j.mu.Lock()
	last := j.last
	j.mu.Unlock()
	if last != nil {
		<-last
	}
}

// follow returns the launches of a program of parts, which are to be told.
func (j *jobs) follow(parts []part) *launches {
	p := &launches{jobs: j, kernels: make(map[string]*pocl.Launches), parts: parts}
	p.tell() // nobody else has it yet
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

// launched takes a launch, see [pocl.Launches.Note].
func (p *launches) launched(kernel string, global, local, offset *[3]uintptr) {
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
	v := k.Note(kernel, global, local, offset)
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
