package pocl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// gate keeps launches and the captures of their code apart. Asking PoCL for a binary makes
// generic code for every kernel and enters it among what is loaded; a launch that is under way
// meanwhile takes one entry and gives back another, and the process aborts
// ("pocl_release_dlhandle_cache: Assertion `found->ref_count > 0' failed", PoCL 3.1). What is
// loaded is one list for the process, so there is one gate. It knows the queues and launches
// that go through gpu/opencl; see Cached there for those that do not.
var gate struct {
	mu       sync.RWMutex // launches hold it shared, a capture alone
	launches atomic.Uint64

	queuesMu sync.Mutex
	queues   map[cl.QueueID]struct{}
}

// Launch queues a launch with enqueue.
func (Driver) Launch(enqueue func() error) error {
	gate.mu.RLock()
	defer gate.mu.RUnlock()
	gate.launches.Add(1)
	return enqueue()
}

// Opened notes a new queue.
func (Driver) Opened(q cl.QueueID) {
	gate.queuesMu.Lock()
	defer gate.queuesMu.Unlock()
	if gate.queues == nil {
		gate.queues = make(map[cl.QueueID]struct{})
	}
	gate.queues[q] = struct{}{}
}

// Closing waits until a queue is empty, as PoCL 3.1 does not for one that is released, and forgets
// it. A capture finds the queue until then.
func (d Driver) Closing(q cl.QueueID) error {
	err := cl.Status("clFinish", uintptr(q))
	gate.queuesMu.Lock()
	delete(gate.queues, q)
	gate.queuesMu.Unlock()
	d.Rest()
	return err
}

// rest is how long a queue, a context or a sub-device outlives the last command. PoCL 3.1's
// worker thread touches a command's event, and what it belongs to, for some microseconds after
// Finish has returned; releasing them at once crashed the process now and then
// (POclReleaseEvent, in 1 of 6 runs of gpu/opencl's tests).
const rest = 10 * time.Millisecond

// Rest waits until the driver touches nothing more of what is released next.
func (Driver) Rest() { time.Sleep(rest) }

// exclusively calls f while no launch is under way: it waits until the queues are empty, without
// holding anybody up, and gives up with kernstash.ErrBusy when something was launched meanwhile.
func exclusively[T any](f func() (T, error)) (answer T, err error) {
	before := gate.launches.Load()
	if err := finishQueues(); err != nil {
		return answer, err
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if gate.launches.Load() != before {
		return answer, kernstash.ErrBusy
	}
	return f()
}

// soon is exclusively, which it tries for a second.
func soon[T any](f func() (T, error)) (T, error) {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		answer, err := exclusively(f)
		if !errors.Is(err, kernstash.ErrBusy) || time.Since(start) > time.Second {
			return answer, err
		}
	}
}

// finishQueues waits until all queues are empty. Each is retained meanwhile, since its owner may
// release it.
func finishQueues() error {
	gate.queuesMu.Lock()
	var held []cl.QueueID
	for q := range gate.queues {
		if cl.Status("clRetainCommandQueue", uintptr(q)) == nil {
			held = append(held, q)
		}
	}
	gate.queuesMu.Unlock()
	var failed error
	for _, id := range held {
		if err := cl.Status("clFinish", uintptr(id)); err != nil && failed == nil {
			failed = fmt.Errorf("finish queue: %w", err)
		}
		_ = cl.Status("clReleaseCommandQueue", uintptr(id)) // the owner's use, or the last one, remains theirs
	}
	return failed
}
