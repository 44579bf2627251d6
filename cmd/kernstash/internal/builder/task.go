package builder

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

// Builder builds files of one runtime.
type Builder interface {
	Title() string // what it builds for

	// build builds a file, and says in r how that ended. An error is why it failed.
	Build(ctx context.Context, t Task, r *Result) error
	Close() error
}

// Task is a file for a builder.
type Task struct {
	File    string
	runtime string // as rows say it
	Arch    string // "": what the compiler takes without one
	first   bool   // of the tasks of its file
	builder Builder
	failed  error // why there is no builder
}

// buildAll does all tasks, some at a time, and calls tell after each.
func buildAll(ctx context.Context, tasks []Task, jobs int, tell func(done int, r Result)) []Result {
	results := make([]Result, len(tasks))
	next := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	done := 0
	for range min(jobs, len(tasks)) {
		workers.Go(func() {
			for i := range next {
				r := tasks[i].do(ctx)
				mu.Lock()
				results[i] = r
				done++
				tell(done, r)
				mu.Unlock()
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// do builds a file and says how that ended.
func (t Task) do(ctx context.Context) Result {
	r := Result{File: t.File, Runtime: t.runtime, Arch: t.Arch}
	start := time.Now()
	err := t.failed
	if err == nil {
		err = t.builder.Build(ctx, t, &r)
	}
	r.MS = human.Millis(time.Since(start))
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(err, &diagnostic):
		r.State, r.Reason, r.Log = StateFailed, "the compiler refused it", diagnostic.Log
		if diagnostic.Err != nil && strings.TrimSpace(diagnostic.Log) == "" {
			r.Reason = diagnostic.Err.Error()
		}
	case err != nil:
		r.State, r.Reason = StateFailed, err.Error()
	}
	return r
}

// Built is what came of a program.
type Built struct {
	Key     key.Key
	Against string         // why it is not stored
	Waits   string         // why it is not stored without a launch; "" if it is
	Counts  stats.Snapshot // of this program alone
}

// ThroughCache builds a program through a Cache of its own, so that what is counted
// tells about that program alone, and waits until it is stored.
func ThroughCache(o kernstash.Options, build func(*kernstash.Cache, *Built) error) (got Built, err error) {
	o.Starter = worker.ForCache
	cache, err := kernstash.Open(o)
	if err != nil {
		return got, err
	}
	if err := build(cache, &got); err != nil {
		return got, errors.Join(err, cache.Close())
	}
	const storing = time.Minute // a build tool can wait longer than an application
	cache.Flush(storing)
	var dropped *kernstash.DroppedError
	if err := cache.Close(); err != nil && !errors.As(err, &dropped) {
		return got, err
	}
	got.Counts = cache.Stats()
	return got, nil
}

// Judge reads from what was counted how a file ended that did not fail.
func (r *Result) Judge(b Built) {
	s := b.Counts
	stored := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting]
	switch {
	case s[stats.DiskHits] > 0:
		r.State = StateThere
	case stored > 0:
		r.State, r.Bytes = StateBuilt, s[stats.DiskBytesWritten]
	case b.Against != "":
		r.State, r.Reason = StateNotCacheable, b.Against
	case notCacheable(s) != "":
		r.State, r.Reason = StateNotCacheable, notCacheable(s)
	case b.Waits != "":
		r.State, r.Reason = StateNotStored, b.Waits
	case s[stats.DiskPutsDropped] > 0:
		r.State, r.Reason = StateNotStored, "the cache is full; run 'kernstash gc'"
	default:
		r.State, r.Reason = StateNotStored, "it could not be written; 'kernstash doctor' says why"
	}
}

// notCacheable says which rule kept a program out, in words.
func notCacheable(s stats.Snapshot) string {
	for r := reason.NotCacheableChanged; r <= reason.NotCacheableRuntime; r++ {
		if s[stats.Of(r)] > 0 {
			return r.Words()
		}
	}
	return ""
}
