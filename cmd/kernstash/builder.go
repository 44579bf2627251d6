package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

// builder builds files of one runtime.
type builder interface {
	title() string // what it builds for

	// build builds a file, and says in r how that ended. An error is why it failed.
	build(ctx context.Context, t buildTask, r *buildResult) error
	close() error
}

// buildTask is a file for a builder.
type buildTask struct {
	file    string
	runtime string // as rows say it
	arch    string // "": what the compiler takes without one
	first   bool   // of the tasks of its file
	builder builder
	failed  error // why there is no builder
}

// buildAll does all tasks, some at a time, and calls tell after each.
func buildAll(ctx context.Context, tasks []buildTask, jobs int, tell func(done int, r buildResult)) []buildResult {
	results := make([]buildResult, len(tasks))
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
func (t buildTask) do(ctx context.Context) buildResult {
	r := buildResult{File: t.file, Runtime: t.runtime, Arch: t.arch}
	start := time.Now()
	err := t.failed
	if err == nil {
		err = t.builder.build(ctx, t, &r)
	}
	r.MS = millis(time.Since(start))
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(err, &diagnostic):
		r.State, r.Reason, r.Log = stateFailed, "the compiler refused it", diagnostic.Log
		if diagnostic.Err != nil && strings.TrimSpace(diagnostic.Log) == "" {
			r.Reason = diagnostic.Err.Error()
		}
	case err != nil:
		r.State, r.Reason = stateFailed, err.Error()
	}
	return r
}

// built is what came of a program.
type built struct {
	key     key.Key
	against string         // why it is not stored
	waits   string         // why it is not stored without a launch; "" if it is
	counts  stats.Snapshot // of this program alone
}

// throughCache builds a program through a Cache of its own, so that what is counted
// tells about that program alone, and waits until it is stored.
func throughCache(o kernstash.Options, build func(*kernstash.Cache, *built) error) (got built, err error) {
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
	got.counts = cache.Stats()
	return got, nil
}

// judge reads from what was counted how a file ended that did not fail.
func (r *buildResult) judge(b built) {
	s := b.counts
	stored := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting]
	switch {
	case s[stats.DiskHits] > 0:
		r.State = stateThere
	case stored > 0:
		r.State, r.Bytes = stateBuilt, s[stats.DiskBytesWritten]
	case b.against != "":
		r.State, r.Reason = stateNotCacheable, b.against
	case notCacheable(s) != "":
		r.State, r.Reason = stateNotCacheable, notCacheable(s)
	case b.waits != "":
		r.State, r.Reason = stateNotStored, b.waits
	case s[stats.DiskPutsDropped] > 0:
		r.State, r.Reason = stateNotStored, "the cache is full; run 'kernstash gc'"
	default:
		r.State, r.Reason = stateNotStored, "it could not be written; 'kernstash doctor' says why"
	}
}

// notCacheable says which rule kept a program out, in words.
func notCacheable(s stats.Snapshot) string {
	for _, r := range notStored {
		if s[r.counter] > 0 {
			return r.words
		}
	}
	return ""
}
