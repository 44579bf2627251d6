package layer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/reason"
)

// patience bounds how long a request waits before there is anything to say.
var patience = guest.Patience

const (
	// gathering bounds how long the units of a ticket wait for each other. What
	// is not there by then is built.
	gathering = 2 * time.Second

	// tries bounds how often a request for what another ticket made is begun
	// anew, because the driver refused that.
	tries = 3
)

// Ticket is a request under way. Its methods may be called from any goroutine,
// one at a time, but End, which may be called at any time.
type Ticket struct {
	l        *Layer
	pool     *pool
	request  kernstash.Request
	ordinals []int // of each device of the request in the pool
	thread   int
	begun    time.Time
	ask      func() // asks the core
	cancel   context.CancelFunc
	wake     chan struct{} // holds one; something changed
	through  chan struct{} // closed when the core is through

	mu       sync.Mutex
	units    int           // steps to come before there is something to say
	arrived  map[int]*step // by the first ordinal
	first    time.Time     // when the first of them arrived
	asked    map[int]*step // served, and not said how they ended
	made     []*step       // ended well
	expected map[int]bool  // the units that may come after a Serve: those that the driver refused
	stepped  map[int]bool  // units that the core had something done for here
	alone    []*step       // those that the core does not wait for
	finished bool          // the core is through
	err      error         // why it failed
	over     bool          // nothing more is to be said
	told     bool          // a Serve was given
	launches *launches     // to be told what the program is; may be nil

	found    map[int]kernstash.Found // what was served without asking the core; nil: it was asked
	answered map[int]stepResult      // what the core is told of those, when it asks after all
}

// offer takes a step in. An error: it comes too late.
func (t *Ticket) offer(s *step) error {
	unit := s.job.Devices[0]
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.answered[unit]; ok && s.artifact != nil && !t.over {
		if r.err != nil {
			delete(t.answered, unit) // the next one is another
		} else {
			s.log, s.cost = s.artifact.Log, s.artifact.Cost
			t.made = append(t.made, s)
		}
		t.stepped[unit] = true
		s.done <- r
		return nil
	}
	if t.over || t.told && !t.expected[unit] {
		return fmt.Errorf("%w: nobody waits for it", kernstash.ErrAbandoned)
	}
	t.stepped[unit] = true
	if len(t.arrived) == 0 {
		t.first = time.Now()
	}
	t.arrived[unit] = s
	t.poke()
	return nil
}

// withdraw takes a step out that the core has given up.
func (t *Ticket) withdraw(s *step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if unit := s.job.Devices[0]; t.arrived[unit] == s {
		delete(t.arrived, unit)
	}
	t.poke()
}

func (t *Ticket) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run asks the core, in a goroutine of its own.
func (t *Ticket) run(ctx context.Context, r kernstash.Request) {
	defer t.cancel()
	defer close(t.through)
	err := t.l.door.Guard(func() error { return t.program(ctx, r) })
	t.mu.Lock()
	t.finished, t.err = true, err
	l := t.launches
	t.mu.Unlock()
	if l != nil && err != nil {
		l.know(nil)
	}
	if errors.Is(err, kernstash.ErrAbandoned) {
		t.l.door.GivenUp()
	}
	t.poke()
}

// program has the core make the program.
func (t *Ticket) program(ctx context.Context, r kernstash.Request) error {
	for try := 1; ; try++ {
		p, err := t.pool.core.Program(ctx, r)
		if errors.Is(err, kernstash.ErrAbandoned) && !t.hasStepped() && try < tries && ctx.Err() == nil {
			continue // by another ticket
		}
		if err != nil {
			return err
		}
		if missing := t.missing(p); len(missing) > 0 {
			// Another ticket had it made just now: here is what it was made of. Or
			// nobody has it made for others.
			err = t.share(ctx, missing)
		}
		if err == nil {
			err = t.awaitAlone(ctx)
		}
		if err == nil {
			t.learn(p)
		}
		p.Release()
		if !errors.Is(err, errRefused) || try == tries {
			return err
		}
		t.forgetSteps()
	}
}

func (t *Ticket) hasStepped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.stepped) > 0
}

// forgetSteps lets the core have steps done here.
func (t *Ticket) forgetSteps() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.stepped)
}

// awaitAlone waits for the steps that the core does not wait for.
func (t *Ticket) awaitAlone(ctx context.Context) (all error) {
	t.mu.Lock()
	alone := t.alone
	t.alone = nil
	t.mu.Unlock()
	for _, s := range alone {
		_, err := t.await(ctx, s)
		all = errors.Join(all, err)
	}
	return all
}

// missing returns the units of a program that nothing was done for here.
func (t *Ticket) missing(p *kernstash.Program[*native, struct{}]) map[*native]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	units := make(map[*native]bool)
	for d := range t.pool.devices {
		if n, err := p.Native(d); err == nil && !t.stepped[n.Job.Devices[0]] {
			units[n] = true
		}
	}
	return units
}

// share has units done that were made for another ticket, or for nobody.
func (t *Ticket) share(ctx context.Context, units map[*native]bool) error {
	errs := make(chan error, len(units))
	for n := range units {
		go func() {
			errs <- t.l.door.Guard(func() error {
				s := t.newStep(n.Job, n.Artifact)
				s.shared = true
				_, err := t.do(ctx, s)
				return err
			})
		}()
	}
	var all error
	for range units {
		all = errors.Join(all, <-errs)
	}
	if all != nil {
		return all
	}
	for n := range units {
		if n.Artifact != nil { // else it was built
			t.l.door.Shared(n.Job, n.Artifact)
		}
	}
	return nil
}

// learn tells the launches of the program what it is, as far as the core would
// store it.
func (t *Ticket) learn(p *kernstash.Program[*native, struct{}]) {
	t.mu.Lock()
	made := t.made
	l := t.launches
	t.mu.Unlock()
	var known []*step
	for _, s := range made {
		if !p.Key(s.job.Devices[0]).IsZero() {
			known = append(known, s)
		}
	}
	t.know(l, known)
}

// know tells the launches of the program, which may be nil, what it is made of.
func (t *Ticket) know(l *launches, known []*step) {
	if l != nil {
		l.know(known)
	}
	for _, s := range known {
		if s.kind == opencl.Intermediate {
			t.l.finish(s)
		}
	}
}

// Wait waits for d at most, and returns what there is to say; ok is false where
// there is nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	deadline := time.Now().Add(d)
	for {
		r, rest, ok := t.reply()
		if ok {
			return r, true
		}
		rest = min(rest, time.Until(deadline))
		if rest <= 0 {
			return Reply{}, false
		}
		select {
		case <-t.wake:
			continue
		default:
		}
		timer := time.NewTimer(rest)
		select {
		case <-t.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// reply returns what there is to say; else how long it can take until there is
// something.
func (t *Ticket) reply() (r Reply, rest time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest = patience - time.Since(t.begun)
	switch {
	case t.over:
		return Reply{Action: front.Pass, Reason: "the ticket has ended"}, 0, true
	case len(t.arrived) > 0:
		left := gathering - time.Since(t.first)
		if len(t.arrived) >= t.units || t.finished || left <= 0 {
			return t.serve(), 0, true
		}
		return Reply{}, left, false
	case t.finished:
		t.over = true
		return t.l.failed(t.err), 0, true
	case rest <= 0:
		t.over = true
		t.cancel()
		return t.l.pass(reason.PassedBusy, "waited too long"), 0, true
	}
	return Reply{}, rest, false
}

// serve tells of the steps that are there; the caller holds the lock.
func (t *Ticket) serve() Reply {
	r := Reply{Action: front.Hit, Artifacts: make([]Artifact, len(t.ordinals))}
	again := t.told
	for i := range r.Artifacts {
		// What is not there is built, and not stored.
		r.Artifacts[i] = Artifact{Kind: opencl.Deferred, Done: again}
	}
	for unit, s := range t.arrived {
		a := s.serve()
		t.each(s, func(i int) { r.Artifacts[i] = a })
		t.asked[unit] = s
		delete(t.arrived, unit)
	}
	t.told, t.expected = true, nil
	return r
}

// each calls f with the places in the request of a step's devices.
func (t *Ticket) each(s *step, f func(i int)) {
	for i, ordinal := range t.ordinals {
		for _, d := range s.job.Devices {
			if d == ordinal {
				f(i)
			}
		}
	}
}

// Next takes how it ended, one outcome for each device of the request, and says
// what follows: Serve for what the driver refused, else Done. Where ok is false,
// Wait tells.
func (t *Ticket) Next(outcomes []Outcome) (r Reply, ok bool) {
	if r, ok = t.next(outcomes); ok && r.Action == front.Done {
		t.linger(outcomes)
	}
	return r, ok
}

func (t *Ticket) next(outcomes []Outcome) (Reply, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over { // what the core still does, storing, is not cut off
		return Reply{Action: front.Pass, Reason: "the ticket has ended"}, true
	}
	if len(t.asked) == 0 || len(outcomes) != len(t.ordinals) {
		t.abandon()
		return Reply{Action: front.Pass, Reason: errRequest.Error()}, true
	}
	if t.found != nil {
		return t.nextFound(outcomes)
	}
	expected := make(map[int]bool)
	var ends []func()
	good, built := true, false
	for unit, s := range t.asked {
		var own []*Outcome
		t.each(s, func(i int) { own = append(own, &outcomes[i]) })
		r := s.result(own)
		switch {
		case errors.Is(r.err, errRefused):
			expected[unit] = true
		case r.err == nil:
			t.made = append(t.made, s)
		}
		good = good && r.err == nil
		built = built || slices.ContainsFunc(own, wasBuilt)
		if s.delegated {
			t.l.builtElsewhere(s, own, r.err)
		}
		if r.built != nil {
			s.artifact = r.built
		}
		ends = append(ends, func() { s.done <- r })
	}
	clear(t.asked)
	if len(expected) > 0 {
		t.expected, t.units = expected, len(expected)
		t.begun = time.Now() // of another wait
	} else {
		t.over = true
	}
	r := Reply{Action: front.Done}
	switch {
	case t.over && t.pool.compile && good:
		r.Program = t.nameUnit(built)
	case t.over:
		r.Program = t.follow()
	}
	for _, end := range ends {
		end()
	}
	return r, t.over
}

// linger waits a little for what was built to be stored, or left to the worker, and for
// what was found after a look at header files to be told.
func (t *Ticket) linger(outcomes []Outcome) {
	var took time.Duration
	found := false
	for i := range outcomes {
		if o := &outcomes[i]; o.Result == front.Built {
			took += o.Took
		}
		found = found || outcomes[i].Result == front.Restored
	}
	if (took > 0 || found && t.request.Image.IncludesFiles()) && t.asking() {
		t.l.door.Linger(took, t.through, t.l.jobs.wait)
	}
}

// follow has the launches of the program noted, if there is anything to learn
// from them.
func (t *Ticket) follow() (program uint64) {
	for _, s := range t.made {
		if s.kind == opencl.Deferred && s.wanted {
			t.launches, program = t.l.programs.add(t.l)
			break
		}
	}
	return program
}

// abandon ends all steps; the caller holds the lock.
func (t *Ticket) abandon() {
	t.over = true
	for _, steps := range []map[int]*step{t.arrived, t.asked} {
		for _, s := range steps {
			s.done <- stepResult{err: fmt.Errorf("%w: the ticket has ended", kernstash.ErrAbandoned)}
		}
		clear(steps)
	}
	t.cancel()
}

// End ends the ticket. Where the last Next did not come before, nothing is known
// of the build, and those who wait for it go on.
func (t *Ticket) End() {
	t.l.tickets.remove(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.abandon()
	}
}
