package tiered

import (
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
)

// queue does tasks in their order, off the caller's path. Its goroutine lives while there are
// any. What waits is bounded: over a limit the oldest is dropped, but not the newest, which alone may be
// larger than the limit.
type queue struct {
	maxBytes int64
	maxTasks int

	mu      sync.Mutex
	tasks   []*task
	bytes   int64
	many    int // tasks that may be dropped
	now     *task
	running bool
	closed  bool
	changed *sync.Cond
}

// task is one. The key is zero where it is of none.
type task struct {
	key  key.Key
	size int64
	do   func()
	drop func() // nil: it has to be done
}

func newQueue(maxBytes int64, maxTasks int) *queue {
	q := &queue{maxBytes: maxBytes, maxTasks: maxTasks}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// add does not block. false: the queue is closed, and nothing is done.
func (q *queue) add(t *task) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.tasks = append(q.tasks, t)
	q.bytes += t.size
	if t.drop != nil {
		q.many++
	}
	var dropped []*task
	for q.bytes > q.maxBytes || q.many > q.maxTasks {
		old := q.remove(func(old *task) bool { return old.drop != nil && old != t })
		if old == nil {
			break
		}
		dropped = append(dropped, old)
	}
	if !q.running && len(q.tasks) > 0 {
		q.running = true
		go q.run()
	}
	q.mu.Unlock()
	for _, old := range dropped {
		old.drop()
	}
	return true
}

// remove takes the oldest task that is meant out of the queue; nil: there is none. q.mu is held.
func (q *queue) remove(meant func(*task) bool) *task {
	for i, t := range q.tasks {
		if meant(t) {
			copy(q.tasks[i:], q.tasks[i+1:])
			q.tasks[len(q.tasks)-1] = nil
			q.tasks = q.tasks[:len(q.tasks)-1]
			q.bytes -= t.size
			if t.drop != nil {
				q.many--
			}
			return t
		}
	}
	return nil
}

func (q *queue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		q.now = q.remove(func(*task) bool { return true })
		if q.now == nil {
			break
		}
		q.mu.Unlock()
		q.now.do()
		q.mu.Lock()
		q.now = nil
		q.changed.Broadcast()
	}
	q.tasks, q.running = nil, false
	q.changed.Broadcast()
}

// cancel drops what waits to be done of a key, and waits for what is being done, until deadline.
func (q *queue) cancel(k key.Key, deadline time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.remove(func(t *task) bool { return t.key == k && t.drop != nil }) != nil {
	}
	flight.Await(q.changed, deadline, func() bool { return q.now == nil || q.now.key != k })
}

// flush waits until nothing is left, or deadline, and reports whether nothing is.
func (q *queue) flush(deadline time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return flight.Await(q.changed, deadline, func() bool { return !q.running })
}

// close drops what is left. Nothing is added any more.
func (q *queue) close() {
	q.mu.Lock()
	left := q.tasks
	q.tasks, q.bytes, q.many, q.closed = nil, 0, 0, true
	q.mu.Unlock()
	for _, t := range left {
		if t.drop != nil {
			t.drop()
		}
	}
}
