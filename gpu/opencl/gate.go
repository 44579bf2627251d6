package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// gate keeps the launches of deferring drivers and the captures of their code
// apart. Asking PoCL for a binary makes generic code for every kernel and enters
// it among what is loaded; a launch that is under way meanwhile takes one entry
// and gives back another, and the process aborts ("pocl_release_dlhandle_cache:
// Assertion `found->ref_count > 0' failed", PoCL 3.1). What is loaded is one list
// for the process, so there is one gate. It knows the queues and launches that
// go through this package; see Cached for those that do not.
type gate struct {
	mu       sync.RWMutex // launches hold it shared, a capture alone
	launches atomic.Uint64

	queuesMu sync.Mutex
	queues   map[*Queue]struct{} // of deferring devices
}

var deferredLaunches = gate{queues: make(map[*Queue]struct{})}

// launch queues a launch.
func (g *gate) launch(enqueue func() error) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	g.launches.Add(1)
	return enqueue()
}

func (g *gate) add(q *Queue) {
	g.queuesMu.Lock()
	defer g.queuesMu.Unlock()
	g.queues[q] = struct{}{}
}

func (g *gate) remove(q *Queue) {
	g.queuesMu.Lock()
	defer g.queuesMu.Unlock()
	delete(g.queues, q)
}

// alone calls f while no launch is under way: it waits until the queues are
// empty, without holding anybody up, and gives up with kernstash.ErrBusy when
// something was launched meanwhile.
func (g *gate) alone(f func() error) error {
	before := g.launches.Load()
	if err := g.finish(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.launches.Load() != before {
		return kernstash.ErrBusy
	}
	return f()
}

// patience bounds how long aloneSoon tries.
const patience = time.Second

// aloneSoon is alone, which it tries until patience is over.
func (g *gate) aloneSoon(f func() error) error {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if err := g.alone(f); !errors.Is(err, kernstash.ErrBusy) || time.Since(start) > patience {
			return err
		}
	}
}

// finish waits until all queues are empty. Each is retained meanwhile, since
// its owner may release it.
func (g *gate) finish() error {
	g.queuesMu.Lock()
	var held []cl.QueueID
	for q := range g.queues {
		if h, err := q.get(); err == nil && cl.RetainCommandQueue(cl.QueueID(h)) == nil {
			held = append(held, cl.QueueID(h))
		}
	}
	g.queuesMu.Unlock()
	var failed error
	for _, id := range held {
		if err := cl.Finish(id); err != nil && failed == nil {
			failed = fmt.Errorf("finish queue: %w", err)
		}
		_ = cl.ReleaseCommandQueue(id) // the owner's use, or the last one, remains theirs
	}
	return failed
}
