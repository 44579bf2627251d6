package builder

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Task is a file for a builder.
type Task struct {
	tool.File
	candidates []*tool.Runtime // that may build it; the one that does, once it is known
	first      bool            // of the tasks of its file
	builder    tool.Builder
	failed     error // why there is no builder
}

// runtime names the runtime, "" while it may be one of several.
func (t *Task) runtime() string {
	if len(t.candidates) == 1 {
		return t.candidates[0].Name
	}
	return ""
}

// buildAll does all tasks, some at a time, and calls tell after each.
func buildAll(ctx context.Context, tasks []Task, jobs int, tell func(done int, r Result)) []Result {
	results := make([]Result, len(tasks))
	slots := make(chan struct{}, jobs)
	var mu sync.Mutex
	var workers sync.WaitGroup
	done := 0
	for i, t := range tasks {
		slots <- struct{}{}
		workers.Go(func() {
			results[i] = t.do(ctx)
			mu.Lock()
			done++
			tell(done, results[i])
			mu.Unlock()
			<-slots
		})
	}
	workers.Wait()
	return results
}

// do builds a file and says how that ended.
func (t Task) do(ctx context.Context) Result {
	r := Result{File: t.Path, Runtime: t.runtime(), Arch: t.Arch}
	start := time.Now()
	var built tool.Built
	err := t.failed
	if err == nil {
		built, err = t.builder.Build(ctx, t.File)
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
	default:
		r.judge(built)
	}
	return r
}

// judge reads from what was counted how a file ended that did not fail.
func (r *Result) judge(b tool.Built) {
	s := b.Counts
	stored := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting]
	switch {
	case s[stats.DiskHits] > 0:
		r.State = StateThere
	case stored > 0:
		r.State, r.Bytes = StateBuilt, s[stats.DiskBytesWritten]
	case b.NotCacheable != "":
		r.State, r.Reason = StateNotCacheable, b.NotCacheable
	case notCacheable(s) != "":
		r.State, r.Reason = StateNotCacheable, notCacheable(s)
	case b.NotStored != "":
		r.State, r.Reason = StateNotStored, b.NotStored
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
