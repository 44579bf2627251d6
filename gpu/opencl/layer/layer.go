package layer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/stats"
)

// Layer answers for one process. It is safe for concurrent use.
type Layer struct {
	cache    *kernstash.Cache
	log      *runlog.Log
	door     string
	drivers  drivers
	pools    pools
	tickets  tickets
	programs programs
	compiled compiledUnits
	jobs     jobs
	keeper   *guest.Keeper
	nearest  nearest
	asking   sync.WaitGroup // goroutines that ask the core
}

// Options configure Open.
type Options struct {
	Cache kernstash.Options // Lenient is set
	Door  string            // for the report of a run; "" is "opencl-layer"

	// Left is called, off the application's path, when there is a new job for the
	// worker; may be nil.
	Left func()
}

// ErrOut is wrapped by Open where the cache is to stay out of the process.
var ErrOut = guest.ErrOut

// Open opens the cache for the process. An error says why every program is the
// driver's own to build.
func Open(o Options) (*Layer, error) {
	l := &Layer{log: runlog.FromEnvironment(), door: o.Door}
	if l.door == "" {
		l.door = "opencl-layer"
	}
	l.keeper = guest.NewKeeper(func() {
		_ = l.guarded(func() error {
			l.cache.KeepStats()
			return nil
		})
	})
	l.jobs.l, l.jobs.told = l, o.Left
	if err := l.open(o); err != nil {
		l.report(runlog.Event{Kind: runlog.Out, Reason: err.Error()})
		return nil, fmt.Errorf("open layer: %w", err)
	}
	l.report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

func (l *Layer) open(o Options) (err error) {
	if err := guest.MayStay(); err != nil {
		return err
	}
	o.Cache.Lenient = true
	if l.cache, err = kernstash.Open(o.Cache); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	if !l.cache.Reads() {
		return fmt.Errorf("%w: the cache is switched off, or has no directory", ErrOut)
	}
	return nil
}

// Cache returns the cache, for its statistics.
func (l *Layer) Cache() *kernstash.Cache { return l.cache }

// Close ends the tickets that are open, and waits for what is to be stored and
// noted. Processes need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	for _, t := range l.tickets.all() {
		t.End()
	}
	l.settle()
	err := l.cache.Close()
	l.keeper.Wait()
	return err
}

// settle waits until nothing goes on for tickets that have ended.
func (l *Layer) settle() {
	l.asking.Wait()
	l.jobs.wait()
}

// Begin begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass there is no ticket.
func (l *Layer) Begin(r *Request) (t *Ticket, reply Reply, ok bool) {
	err := l.guarded(func() error {
		t, reply, ok = l.begin(r)
		return nil
	})
	if err != nil {
		return nil, l.pass(stats.Panics, err.Error()), true
	}
	return t, reply, ok
}

// atOnce is how long Begin waits itself: as long as it takes to find an artifact
// where nothing is in the way.
const atOnce = 5 * time.Millisecond

func (l *Layer) begin(r *Request) (*Ticket, Reply, bool) {
	if err := r.check(); err != nil {
		return nil, l.pass(stats.PassedOther, err.Error()), true
	}
	if l.tickets.busy(r.Thread) {
		return nil, l.pass(stats.PassedBusy, "the thread builds another program"), true
	}
	devices := make([]*device, len(r.Devices))
	for i, handle := range r.Devices {
		d, err := l.drivers.find(r, handle)
		if err != nil {
			return nil, l.pass(stats.PassedOther, err.Error()), true
		}
		devices[i] = d
	}
	pool, ordinals, err := l.pools.find(l, devices, r.What == Compile)
	if err != nil {
		return nil, l.pass(stats.PassedOther, err.Error()), true
	}
	known := l.knownUnits(r)
	request, err := r.core(devices[0].TellsNoOptions(), known, pool)
	if err == nil && r.What == Compile && request.Image.IncludesFiles() && l.compiled.full() {
		err = errTooManyUnits
	}
	if err != nil {
		return nil, l.pass(whyPassed(err), err.Error()), true
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &Ticket{
		l: l, pool: pool, request: request, ordinals: ordinals, thread: r.Thread, begun: time.Now(), cancel: cancel,
		wake: make(chan struct{}, 1), through: make(chan struct{}), arrived: make(map[int]*step), asked: make(map[int]*step), stepped: make(map[int]bool), units: pool.units(),
	}
	if !l.tickets.add(t) {
		cancel()
		return nil, l.pass(stats.PassedBusy, "too many programs at once"), true
	}
	t.ask = func() {
		l.asking.Go(func() { t.run(context.WithValue(ctx, ticketKey{}, t), request) })
	}
	if found := pool.core.Glance(ctx, request); found != nil {
		return t, t.glance(found), true
	}
	t.ask()
	reply, ok := t.wait(atOnce)
	return t, reply, ok
}

// whyPassed returns what counts a request that the core is not asked about.
func whyPassed(err error) stats.Counter {
	switch {
	case errors.Is(err, errMixed), errors.Is(err, errFiles):
		return stats.PassedInputs
	case errors.Is(err, errLibraryOption):
		return stats.PassedOptions
	}
	return stats.PassedOther
}

// Ticket returns the open ticket of a number; nil: there is none.
func (l *Layer) Ticket(id uint64) *Ticket { return l.tickets.find(id) }

// ID returns the ticket's number.
func (t *Ticket) ID() uint64 { return t.id }

// tickets are those that are open.
type tickets struct {
	mu      sync.Mutex
	last    uint64
	open    map[uint64]*Ticket
	threads map[int]int // open ones of a thread
}

// maxTickets bounds what a process can have open.
const maxTickets = 4096

func (s *tickets) add(t *Ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxTickets {
		return false
	}
	if s.open == nil {
		s.open, s.threads = make(map[uint64]*Ticket), make(map[int]int)
	}
	s.last++
	t.id = s.last
	s.open[t.id] = t
	if t.thread != 0 {
		s.threads[t.thread]++
	}
	return true
}

func (s *tickets) remove(t *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[t.id] != t {
		return
	}
	delete(s.open, t.id)
	if t.thread == 0 {
		return
	}
	if s.threads[t.thread]--; s.threads[t.thread] == 0 {
		delete(s.threads, t.thread)
	}
}

func (s *tickets) find(id uint64) *Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

func (s *tickets) all() []*Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

// busy says whether a thread has a ticket. It would wait for itself if it asked
// for the same program, and two such threads for each other.
func (s *tickets) busy(thread int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return thread != 0 && s.threads[thread] > 0
}

// guarded makes an error of a panic in f.
func (l *Layer) guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
			l.cache.Warn("panic in the layer", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

var errPanic = errors.New("internal error")

// pass counts a request that is passed through.
func (l *Layer) pass(counter stats.Counter, reason string) Reply {
	l.cache.Count(counter, 1)
	l.report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: reason})
	l.keeper.Poke()
	return Reply{Action: Pass, Reason: reason}
}

// failed is pass for what the core says.
func (l *Layer) failed(err error) Reply {
	var diagnostic *kernstash.BuildError
	switch {
	case err == nil:
		return l.pass(stats.PassedOther, "nothing to do")
	case errors.Is(err, errPanic) || flight.IsPanic(err):
		return l.pass(stats.Panics, err.Error())
	case errors.As(err, &diagnostic):
		// The application is to see the driver's own failure.
		return l.pass(stats.PassedOther, "the compiler refused it a moment ago")
	}
	return l.pass(stats.PassedOther, err.Error())
}

// Passed counts what a layer passed through by itself, for a reason.
func (l *Layer) Passed(reason string) {
	_ = l.guarded(func() error {
		counter, ok := passedCounters[reason]
		if !ok {
			counter = stats.PassedOther
		}
		l.pass(counter, reason)
		return nil
	})
}

// passedCounters are the reasons that have a counter of their own.
var passedCounters = map[string]stats.Counter{
	runlog.ReasonBinary:      stats.PassedBinary,
	"link of unknown inputs": stats.PassedInputs,
	"side effects":           stats.PassedOptions,
	"library":                stats.PassedOptions,
}
