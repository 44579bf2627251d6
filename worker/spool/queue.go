package spool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// maxQueued bounds the jobs that wait to be written; more are dropped.
const maxQueued = 64

// Queue adds jobs behind the caller's back. Its goroutine lives only while there
// is work, and is lost with the process: what was not written by then is added by
// the next one. It is safe for concurrent use.
type Queue struct {
	store *disk.Store
	rec   stats.Recorder
	trace *slog.Logger
	added func() // called after each Added; may be nil

	mu      sync.Mutex
	jobs    []Job
	running bool
	idle    *sync.Cond
}

// NewQueue returns a queue for the spool of a store. added, which may be nil, is
// called from the queue's goroutine when something was added: it may start a
// worker. rec and trace may be nil.
func NewQueue(s *disk.Store, rec stats.Recorder, trace *slog.Logger, added func()) *Queue {
	if rec == nil {
		rec = stats.Noop{}
	}
	if trace == nil {
		trace = slog.New(slog.DiscardHandler)
	}
	q := &Queue{store: s, rec: rec, trace: trace, added: added}
	q.idle = sync.NewCond(&q.mu)
	return q
}

// Add queues a job, whose parts must not be changed any more. It takes no more
// than a microsecond, and drops the job if too many wait.
func (q *Queue) Add(j Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) >= maxQueued {
		q.rec.Add(stats.JobsDropped, 1)
		return
	}
	q.jobs = append(q.jobs, j)
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *Queue) run() {
	q.mu.Lock()
	for len(q.jobs) > 0 {
		j := q.jobs[0]
		q.jobs[0] = Job{}
		q.jobs = q.jobs[1:]
		q.mu.Unlock()
		q.write(j)
		q.mu.Lock()
	}
	q.running = false
	q.idle.Broadcast()
	q.mu.Unlock()
}

// write adds a job. A panic, of what a caller handed over, ends here.
func (q *Queue) write(j Job) {
	defer func() {
		if p := recover(); p != nil {
			q.trace.Warn("job not added", "panic", p)
		}
	}()
	res, err := Add(context.Background(), q.store, j, q.rec)
	switch {
	case err != nil:
		q.trace.Info("job not added", "reason", err)
	case res == Added && q.added != nil:
		q.added()
	}
}

// Flush waits until all is written, or until deadline, and says which.
func (q *Queue) Flush(deadline time.Time) bool {
	wake := time.AfterFunc(time.Until(deadline), func() {
		q.mu.Lock() // else the signal may come between a waiter's look and its wait
		defer q.mu.Unlock()
		q.idle.Broadcast()
	})
	defer wake.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running && time.Now().Before(deadline) {
		q.idle.Wait()
	}
	return !q.running
}
