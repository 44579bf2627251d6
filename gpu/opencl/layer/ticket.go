package layer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/reason"
)

// patience bounds how long a request waits before there is anything to say.
var patience = inprocess.Patience

// gathering bounds how long the units of a ticket wait for each other. What is not there
// by then is built, and not stored.
const gathering = 2 * time.Second

// Ticket is a request under way. Its methods may be called from any goroutine,
// one at a time, but End, which may be called at any time.
type Ticket struct {
	l        *Layer
	pool     *pool
	request  engine.Request
	first    bool  // of a stored artifact its first binary does
	ordinals []int // of each device of the request in the pool
	thread   int
	searched chan struct{} // closed when header files were searched; nil: they need not be
	ended    chan struct{} // closed when nothing more is to be said

	mu    sync.Mutex
	begun time.Time // the request, or the wait after the driver refused an artifact
	units []*unit   // nil: header files are searched
	err   error     // why nobody asks further
	ready time.Time // when the first unit was that is not served; zero: none is
	alone func()    // lets this process wait for others again; nil: it may
	told  bool      // a Hit was given
	over  bool      // nothing more is to be said
}

// unit is the part of a ticket for a group of equal devices.
type unit struct {
	group *engine.Group
	begun time.Time // what the step takes is counted from here on; zero: from the request on
	step  *step     // to be done, or done; nil: it is not known yet what is to be done
	asked bool      // the step is being done
	ended bool
	good  bool // a program was made
}

// search finds what the request means, which may take as long as a file system takes to
// answer: unless it is known, in a goroutine of its own.
func (t *Ticket) search(request engine.Request) {
	known, err := t.pool.session.BeginKnown(request)
	if known != nil || err != nil {
		t.found(known, err)
		return
	}
	t.searched = make(chan struct{})
	t.l.door.Go(func() {
		defer close(t.searched)
		var found *engine.Transaction
		err := t.l.door.Guard(func() (err error) {
			found, err = t.pool.session.Begin(context.Background(), request)
			return err
		})
		t.found(found, err)
	})
}

// found takes what the request means.
func (t *Ticket) found(what *engine.Transaction, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err != nil {
		return
	}
	if t.first {
		what.ReadFirstBinary()
	}
	for _, g := range what.Groups() {
		t.units = append(t.units, &unit{group: g})
	}
}

// Wait waits for d at most, and returns what there is to say; ok is false where
// there is nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	deadline := time.Now().Add(d)
	for {
		r, something, rest := t.reply()
		if something == nil {
			return r, true
		}
		rest = min(rest, time.Until(deadline))
		if rest <= 0 {
			return Reply{}, false
		}
		timer := time.NewTimer(rest)
		select {
		case <-something:
		case <-t.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// reply returns what there is to say. Where something is not nil there is nothing yet:
// there may be when that is closed, or after rest.
func (t *Ticket) reply() (r Reply, something <-chan struct{}, rest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return ended, nil, 0
	}
	if t.units == nil && t.err == nil {
		something = t.searched
	} else {
		something = t.advance()
	}
	rest = patience - time.Since(t.begun)
	switch {
	case t.err != nil:
		t.end()
		return Reply{Action: front.Pass, Reason: t.l.door.PassFailed(t.err)}, nil, 0
	case !t.ready.IsZero():
		rest = gathering - time.Since(t.ready)
		if something == nil || rest <= 0 {
			return t.serve(), nil, 0
		}
	case something == nil:
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, nil, 0
	case rest <= 0:
		t.end()
		return t.l.pass(reason.PassedBusy, "waited too long"), nil, 0
	}
	return Reply{}, something, rest
}

// ended is what there is to say of a ticket that has ended.
var ended = Reply{Action: front.Pass, Reason: "the ticket has ended"}

// advance finds out what is to be done for the units. It returns what is closed when
// somebody else has built one of them; nil: it is known of all. Threads of the process come
// to the units in the same order: none of them waits for one that waits for it.
func (t *Ticket) advance() (something <-chan struct{}) {
	for _, u := range t.units {
		switch {
		case u.step != nil || u.ended:
			continue
		case something != nil:
			u.group.Follow()
			continue
		}
		s := u.group.Next(context.Background())
		switch {
		case s.Err != nil:
			t.err = s.Err
			return nil
		case s.Kind == engine.Wait:
			something, u.begun = s.Ready, time.Now()
		default:
			t.take(u, s)
		}
	}
	if something != nil && !t.ready.IsZero() && t.alone == nil {
		// Another process that builds one unit may wait for the other.
		t.alone = t.l.door.Cache.Engine().Awaiting()
	}
	return something
}

// take takes what is to be done for a unit.
func (t *Ticket) take(u *unit, s engine.Step) {
	now, job := time.Now(), u.group.Job()
	u.step = &step{
		job: job, artifact: s.Artifact, shared: s.Shared, kind: t.pool.kind(job),
		compile: t.pool.compile, object: t.pool.compile && t.request.Image.ReadsFiles(),
		wanted: !job.Key.IsZero() && t.l.door.Cache.Writes(),
	}
	switch {
	case s.Kind != engine.Hit, t.searched != nil, !u.begun.IsZero():
		u.begun = now
	default:
		u.begun = t.begun
	}
	if t.ready.IsZero() {
		t.ready = now
	}
}

// serve tells of the steps that are there.
func (t *Ticket) serve() Reply {
	r := Reply{Action: front.Hit, Artifacts: make([]Artifact, len(t.ordinals))}
	for i := range r.Artifacts {
		r.Artifacts[i] = Artifact{Kind: opencl.Deferred, Done: t.told}
	}
	for _, u := range t.units {
		if u.ended {
			continue
		}
		if u.step == nil { // another one is waited for
			if s := u.group.Next(context.Background()); s.Kind == engine.Wait || s.Err != nil {
				u.ended = true
				u.group.Abandon()
				continue
			} else {
				t.take(u, s)
			}
		}
		a := u.step.serve()
		t.each(u.step, func(i int) { r.Artifacts[i] = a })
		u.asked = true
	}
	t.told, t.ready = true, time.Time{}
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
// what follows: Hit for what the driver refused, else Done. Where ok is false,
// Wait tells.
func (t *Ticket) Next(outcomes []Outcome) (Reply, bool) {
	r, again := t.next(outcomes)
	switch {
	case again:
		return t.Wait(0)
	case r.Action == front.Done:
		t.linger(outcomes)
	}
	return r, true
}

// next is Next; again says that something is to be done again.
func (t *Ticket) next(outcomes []Outcome) (r Reply, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return ended, false
	}
	answered, givenUp := false, false
	for _, u := range t.units {
		if !u.asked || len(outcomes) != len(t.ordinals) {
			continue
		}
		answered = true
		var own []*Outcome
		t.each(u.step, func(i int) { own = append(own, &outcomes[i]) })
		err := t.done(u, own)
		again = again || errors.Is(err, errRejected)
		givenUp = givenUp || errors.Is(err, errAbandoned)
	}
	switch {
	case !answered:
		t.giveUp()
		return Reply{Action: front.Pass, Reason: errRequest.Error()}, false
	case givenUp:
		t.giveUp()
		return Reply{Action: front.Done}, false
	case again:
		t.begun = time.Now() // of another wait
		return Reply{}, true
	}
	t.end()
	r = Reply{Action: front.Done}
	if t.pool.compile {
		r.Program, r.Saved = t.compiled()
	} else {
		r.Program = t.follow()
	}
	return r, false
}

// done says how a unit's step ended.
func (t *Ticket) done(u *unit, outcomes []*Outcome) error {
	s := u.step
	a, err := s.end(outcomes)
	took := time.Since(u.begun)
	if s.artifact == nil && t.pool.Delivery(s.job) == engine.Elsewhere {
		took = 0 // the compiler alone
		for _, o := range outcomes {
			took = max(took, o.Took)
		}
	}
	u.asked = false
	if errors.Is(err, errRejected) {
		u.step, u.begun = nil, time.Now()
		u.group.Rejected(context.Background(), err)
		return err
	}
	u.ended, u.good = true, err == nil
	switch {
	case errors.Is(err, errAbandoned):
		u.group.Abandon()
	case err != nil:
		u.group.Failed(err, took)
	case s.artifact == nil:
		u.group.Built(engine.Outcome{Artifact: a, Took: took})
	case s.compile && s.built:
		u.group.Abandon()
		t.l.compiledAnyway(s.job.Key, inprocess.Label(nil, s.job.Recipe.Image.Size()), took, 0)
	default:
		u.group.Loaded(took)
		if s.compile && !s.shared {
			s.saved = s.artifact.Cost - took
		}
	}
	if a != nil {
		s.artifact = a
	}
	return err
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
	if took > 0 || found && t.searched != nil {
		t.l.door.Linger(took, t.ended, t.l.jobs.wait)
	}
}

// follow leaves to the worker what it is to do for what was made, and returns the number
// of the program, for its launches or its answers; 0: nothing more of it is of interest.
func (t *Ticket) follow() (program uint64) {
	var deferred []part
	for _, u := range t.units {
		if !u.good || u.group.Job().Key.IsZero() {
			continue
		}
		switch u.step.kind {
		case opencl.Intermediate:
			t.l.finish(u.step)
		case opencl.Deferred:
			deferred = append(deferred, newPart(u.step))
		}
	}
	if program = t.l.follow(deferred); program == 0 {
		program = t.keepAnswers()
	}
	return program
}

// giveUp ends the ticket where nothing is known of the build.
func (t *Ticket) giveUp() {
	t.end()
	t.l.door.GivenUp()
}

// end ends what is under way; the caller holds the lock.
func (t *Ticket) end() {
	t.over = true
	close(t.ended)
	for _, u := range t.units {
		u.group.Abandon()
	}
	if t.alone != nil {
		t.alone()
	}
}

// End ends the ticket. Where the last Next did not come before, nothing is known
// of the build, and those who wait for it go on.
func (t *Ticket) End() {
	t.l.tickets.remove(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
	case t.told:
		t.giveUp()
	default:
		t.end()
	}
}
