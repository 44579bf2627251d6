package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
)

// Patience bounds how long a request waits before there is anything to say: for another
// thread's build, or another process's (which the core bounds by two minutes). Then the
// host's compiler builds.
const Patience = 130 * time.Second

// tries bounds how often a request for what another one makes is begun anew, because that
// was given up.
const tries = 3

// Rendezvous is where the core, which wants something done of a request, in a goroutine of
// its own, meets the host's thread, which does it: a step S is asked for, and R is how it
// ended. The methods for the host may be called from any goroutine, one at a time, but
// End, which may be called at any time.
type Rendezvous[S, R any] struct {
	door    Door
	ctx     context.Context
	cancel  context.CancelFunc
	wants   chan *want[S, R]
	through chan struct{} // closed when the core is through
	ended   chan struct{} // closed when the host does nothing more
	err     error         // of the core; to be read when it is through

	mu      sync.Mutex
	begun   time.Time // of the wait
	stepped bool      // the core wanted a step done here
	over    bool      // the host does nothing more
	current *want[S, R]
}

// want is a step that the core wants to be done.
type want[S, R any] struct {
	step S
	done chan result[R] // takes one
}

type result[R any] struct {
	of  R
	err error
}

// NewRendezvous returns one of a request that comes in at a door.
func NewRendezvous[S, R any](d Door) *Rendezvous[S, R] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Rendezvous[S, R]{
		door: d, ctx: ctx, cancel: cancel, begun: time.Now(),
		wants: make(chan *want[S, R]), through: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Ask has the core asked by f, in a goroutine of its own. It is called at most once.
func (m *Rendezvous[S, R]) Ask(f func(context.Context) error) {
	m.again()
	m.door.asking.Go(func() {
		defer m.cancel()
		defer close(m.through)
		m.err = m.door.Guard(func() error { return f(m.ctx) })
		if errors.Is(m.err, kernstash.ErrAbandoned) {
			m.door.GivenUp()
		}
	})
}

// again has the wait begin.
func (m *Rendezvous[S, R]) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = time.Now()
}

// Program has the core make a program; anew where another request that it was made for
// was given up.
func Program[P, S, R any](ctx context.Context, core *Core[P], r kernstash.Request, m *Rendezvous[S, R]) (*kernstash.Program[P, struct{}], error) {
	for try := 1; ; try++ {
		p, err := core.Program(ctx, r)
		if !errors.Is(err, kernstash.ErrAbandoned) || m.Stepped() || try == tries || ctx.Err() != nil {
			return p, err
		}
	}
}

// Stepped says whether the core wanted a step done here.
func (m *Rendezvous[S, R]) Stepped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stepped
}

// Step has the host do a step, and waits for how it ended. It is for the core's side.
func (m *Rendezvous[S, R]) Step(ctx context.Context, step S) (r R, err error) {
	m.mu.Lock()
	m.stepped = true
	m.mu.Unlock()
	w := &want[S, R]{step, make(chan result[R], 1)}
	select {
	case m.wants <- w:
	case <-m.ended:
		return r, errEnded
	case <-ctx.Done():
		return r, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, context.Cause(ctx))
	}
	select {
	case own := <-w.done:
		return own.of, own.err
	case <-m.ended:
	case <-ctx.Done():
	}
	select {
	case own := <-w.done: // it was said before
		return own.of, own.err
	default:
		return r, errEnded
	}
}

var errEnded error = endedError{}

// endedError is made without fmt, which a process would need for nothing else at its start.
type endedError struct{}

func (endedError) Error() string { return kernstash.ErrAbandoned.Error() + ": the ticket has ended" }
func (endedError) Unwrap() error { return kernstash.ErrAbandoned }

// Said is what Wait has to say.
type Said int

// What Wait can say.
const (
	Nothing Said = iota // there is nothing yet
	Wanted              // the step is to be done, and Answer told how it ended
	Through             // the core is through, see Err; the rendezvous has ended
	Late                // it took too long; the rendezvous has ended
	Over                // there is nothing to wait for
)

// Wait waits for d at most.
func (m *Rendezvous[S, R]) Wait(d time.Duration) (step S, said Said) {
	m.mu.Lock()
	over := m.over || m.current != nil
	left := Patience - time.Since(m.begun)
	m.mu.Unlock()
	switch {
	case over:
		return step, Over
	case left <= 0:
		m.End()
		return step, Late
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case w := <-m.wants:
		m.mu.Lock()
		m.current = w
		m.mu.Unlock()
		return w.step, Wanted
	case <-m.through:
		m.End()
		return step, Through
	case <-timer.C:
		return step, Nothing
	}
}

// Err returns how it ended for the core, after Wait has said that it is through.
func (m *Rendezvous[S, R]) Err() error { return m.err }

// Current returns the step that is being done; false: there is none.
func (m *Rendezvous[S, R]) Current() (step S, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.current == nil {
		return step, false
	}
	return m.current.step, true
}

// Answer says how the current step ended. After the last one the host does nothing more,
// and what the core still does, storing, is not cut off. False: there is no step, or it
// comes after End, and is not heard.
func (m *Rendezvous[S, R]) Answer(r R, err error, last bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.current
	if m.over || w == nil {
		return false
	}
	m.current, m.over, m.begun = nil, last, time.Now()
	w.done <- result[R]{r, err}
	return true
}

// Linger waits a little for what was built, which took so long, to be stored.
func (m *Rendezvous[S, R]) Linger(took time.Duration) { m.door.Linger(took, m.through, nil) }

// End ends it. Where no last Answer came before, nothing is known of the build, and those
// who wait for it go on.
func (m *Rendezvous[S, R]) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.over = true
		close(m.ended)
		m.cancel()
	}
}
