package layer

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

// part is a program for one group of devices, as far as a job tells of it.
type part struct {
	recipe *key.Recipe
	ready  []string // launches that the artifact is ready for
	there  bool     // there is an artifact
	log    string   // of the build
	cost   time.Duration
}

func newPart(s *step) part {
	p := part{recipe: s.job.Recipe, log: s.log, cost: s.cost}
	if s.artifact != nil {
		p.ready, p.there = s.artifact.Variants, true
	}
	return p
}

// jobs leaves work for the worker, off the application's path. Of what one
// program after the other brings, each launch is left once.
type jobs struct {
	l    *Layer
	told func() // that there is one; may be nil

	mu      sync.Mutex
	left    map[string][]string // by the job's name: the launches that were left
	queue   []spool.Job
	running bool
	ended   *sync.Cond
}

// maxLeft bounds what is remembered of jobs that were left. What is forgotten is
// left again, which changes nothing in the spool.
const maxLeft = 4096

// maxQueue bounds what waits to be written.
const maxQueue = 256

// finish leaves an artifact to be finished, unless it is.
func (l *Layer) finish(s *step) {
	a := s.artifact
	if a == nil || slices.ContainsFunc(a.Binaries, func(b store.Binary) bool { return b.Form == store.FormFinal }) {
		return
	}
	l.jobs.add(newPart(s), spool.Finish, nil)
}

// add leaves a program to be built, for launches, or to be finished.
func (j *jobs) add(p part, kind spool.Kind, variants []string) {
	if !j.l.door.Cache.Writes() {
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
	if !fresh || len(j.queue) >= maxQueue {
		return
	}
	if j.left == nil || len(j.left) >= maxLeft {
		j.left = make(map[string][]string)
	}
	j.left[name] = slices.Compact(slices.Sorted(slices.Values(append(left, variants...))))
	job.Variants = j.left[name]
	j.queue = append(j.queue, job)
	if !j.running {
		j.running = true
		go j.run()
	}
}

func (j *jobs) run() {
	for {
		j.mu.Lock()
		if len(j.queue) == 0 {
			j.running = false
			if j.ended != nil {
				j.ended.Broadcast()
			}
			j.mu.Unlock()
			return
		}
		job := j.queue[0]
		j.queue = slices.Delete(j.queue, 0, 1)
		j.mu.Unlock()
		_ = j.l.door.Guard(func() error {
			j.leave(job)
			return nil
		})
	}
}

func (j *jobs) leave(job spool.Job) {
	dir, _ := os.Getwd() // "": not known
	job.Environment = spool.Take(dl.Environ(), job.Recipe, dir)
	result, err := j.l.door.Cache.AddJob(context.Background(), job)
	if err != nil {
		j.l.door.Cache.Warn("job not left for the worker", "reason", err.Error())
		return
	}
	if result.Waits() && j.told != nil {
		j.told()
	}
	if result == spool.Added {
		j.l.door.Report(runlog.Event{Kind: runlog.Job, Key: job.Key().Short(), Label: names(job.Variants)})
	}
	j.l.door.Counted()
}

// names returns the kernels of launches, each once.
func names(variants []string) string {
	var all []string
	for _, v := range variants {
		name, _, _ := strings.Cut(v, "/")
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// wait waits until every job is written.
func (j *jobs) wait() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended == nil {
		j.ended = sync.NewCond(&j.mu)
	}
	for j.running {
		j.ended.Wait()
	}
}
