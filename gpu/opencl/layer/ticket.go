package layer

import (
	"bytes"
	"context"
	"errors"
	"slices"
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

// Ticket is a request under way. Its methods may be called from any goroutine,
// one at a time, but End, which may be called at any time.
type Ticket struct {
	l        *Layer
	pool     *pool
	request  engine.Request
	later    bool  // a large answer is left out, to be asked for
	ordinals []int // of each device of the request in the pool
	thread   int
	searched chan struct{} // closed when header files were searched; nil: they need not be
	ended    chan struct{} // closed when nothing more is to be said

	mu    sync.Mutex
	begun time.Time // the request, or the wait after the driver refused an artifact
	from  time.Time // what a restore takes is counted from here on; zero: something was waited for
	units []*unit   // in the order of their keys; nil: header files are searched
	err   error     // why nobody asks further
	asked bool      // it was told what is to be done
	over  bool      // nothing more is to be said
}

// search finds what the request means, which may take as long as a file system takes to
// answer: unless it is known, in a goroutine of its own.
func (t *Ticket) search() {
	known, err := t.pool.session.BeginKnown(t.request)
	if known != nil || err != nil {
		t.found(known, err)
		return
	}
	t.searched = make(chan struct{})
	t.l.Go(func() {
		defer close(t.searched)
		var found *engine.Transaction
		err := t.l.Guard(func() (err error) {
			found, err = t.pool.session.Begin(context.Background(), t.request)
			return err
		})
		t.found(found, err)
	})
}

// found takes what the request means. All processes and threads come to the units in the order
// of their keys: none waits for a unit while another, which waits for it, has an earlier one.
func (t *Ticket) found(what *engine.Transaction, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err != nil {
		return
	}
	for _, g := range what.Groups() {
		u := &unit{group: g, compile: t.pool.compile, object: t.pool.compile && t.request.Image.ReadsFiles()}
		for i, ordinal := range t.ordinals {
			if slices.Contains(g.Job().Devices, ordinal) {
				u.places = append(u.places, i)
			}
		}
		t.units = append(t.units, u)
	}
	slices.SortFunc(t.units, func(a, b *unit) int {
		x, y := a.group.Job().Key.Sum, b.group.Job().Key.Sum
		return bytes.Compare(x[:], y[:])
	})
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
	switch {
	case t.over:
		return ended, nil, 0
	case t.asked:
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, nil, 0
	case t.units == nil && t.err == nil:
		something = t.searched
	case t.err == nil:
		something = t.advance()
	}
	rest = patience - time.Since(t.begun)
	switch {
	case t.err != nil:
		t.end()
		return t.l.failed(t.err), nil, 0
	case something == nil:
		return t.serve(), nil, 0
	case rest <= 0:
		t.end()
		return t.l.pass(reason.PassedBusy, "waited too long"), nil, 0
	}
	t.from = time.Time{}
	return Reply{}, something, rest
}

// ended is what there is to say of a ticket that has ended.
var ended = Reply{Action: front.Pass, Reason: "the ticket has ended"}

// advance finds out what is to be done for the units. It returns what is closed when
// somebody else has built one of them; nil: it is known of all.
func (t *Ticket) advance() (something <-chan struct{}) {
	for _, u := range t.units {
		switch {
		case u.known:
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
			something = s.Ready
		default:
			t.take(u, s)
		}
	}
	return something
}

// take takes what is to be done for a unit.
func (t *Ticket) take(u *unit, s engine.Step) {
	u.known, u.job, u.artifact, u.shared = true, u.group.Job(), s.Artifact, s.Shared
	u.kind, u.wanted = t.pool.kind(u.job.Devices[0]), !u.job.Key.IsZero() && t.l.Cache.Writes()
	if u.begun = t.from; s.Kind != engine.Hit || t.from.IsZero() {
		u.begun = time.Now()
	}
}

// serve tells what is to be done.
func (t *Ticket) serve() Reply {
	r := Reply{Action: front.Hit, Artifacts: make([]Artifact, len(t.ordinals))}
	for _, u := range t.units {
		a := Artifact{Kind: opencl.Deferred, Done: true}
		if !u.ended {
			a = u.serve(t.later)
		}
		for _, i := range u.places {
			r.Artifacts[i] = a
		}
	}
	t.asked = true
	return r
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
	switch {
	case t.over:
		return ended, false
	case !t.asked || len(outcomes) != len(t.ordinals):
		t.giveUp()
		return Reply{Action: front.Pass, Reason: errRequest.Error()}, false
	}
	t.asked = false
	givenUp := false
	for _, u := range t.units {
		if u.ended {
			continue
		}
		var own []*Outcome
		for _, i := range u.places {
			own = append(own, &outcomes[i])
		}
		err := t.done(u, own)
		again = again || errors.Is(err, errRejected)
		givenUp = givenUp || errors.Is(err, errAbandoned)
	}
	switch {
	case givenUp:
		t.giveUp()
		return Reply{Action: front.Done}, false
	case again:
		t.begun, t.from = time.Now(), time.Time{} // of another wait
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

// done says how it ended for a unit.
func (t *Ticket) done(u *unit, outcomes []*Outcome) error {
	a, err := u.end(outcomes)
	took := time.Since(u.begun)
	if u.artifact == nil && t.pool.Delivery(u.job) == engine.Elsewhere {
		took = 0 // the compiler alone
		for _, o := range outcomes {
			took = max(took, o.Took)
		}
	}
	if errors.Is(err, errRejected) {
		u.known = false
		u.group.Rejected(context.Background(), err)
		return err
	}
	u.ended, u.good = true, err == nil
	switch {
	case errors.Is(err, errAbandoned):
		u.group.Abandon()
	case err != nil:
		u.group.Failed(err, took)
	case u.artifact == nil:
		u.group.Built(engine.Outcome{Artifact: a, Took: took})
	case u.compile && u.built:
		u.group.Abandon()
		compiledAnyway(t.l.FrontEnd, u.job.Key, inprocess.Label(nil, u.job.Recipe.Image.Size()), took, 0)
	default:
		u.group.Loaded(took)
		if u.compile && !u.shared {
			u.saved = u.artifact.Cost - took
		}
	}
	if a != nil {
		u.artifact = a
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
		t.l.WaitStored(took, t.ended, t.l.jobs.wait)
	}
}

// follow leaves to the worker what it is to do for what was made, and returns the number
// of the program, for its launches or its answers; 0: nothing more of it is of interest.
func (t *Ticket) follow() (number uint64) {
	var deferred []part
	for _, u := range t.units {
		if !u.good || u.group.Job().Key.IsZero() {
			continue
		}
		switch u.kind {
		case opencl.Intermediate:
			t.l.jobs.finish(u.part(), u.artifact)
		case opencl.Deferred:
			deferred = append(deferred, u.part())
		}
	}
	if len(deferred) > 0 && !t.l.programs.full() && t.l.Cache.Writes() {
		return t.l.programs.add(program{launches: t.l.jobs.follow(deferred)})
	}
	if a := answersOf(t.units, len(t.ordinals)); a != nil {
		return t.l.programs.add(program{answers: a})
	}
	return 0
}

// compiled returns the number under which the ticket's unit, whose compilation has
// ended, can be linked, 0 where it reads no files, and what was saved. If the driver
// compiled it just now, it counts only if the files are still what they were when they
// were looked at.
func (t *Ticket) compiled() (number uint64, saved time.Duration) {
	good, built := true, false
	for _, u := range t.units {
		good, built = good && u.good, built || u.built
		saved += u.saved
	}
	files := t.pool.session.Snapshot(t.request)
	if !good || files == nil || built && files.Changed() != "" {
		return 0, saved
	}
	return t.l.programs.add(program{compiled: &compiled{pool: t.pool, files: files}}), saved
}

// giveUp ends the ticket where nothing is known of the build.
func (t *Ticket) giveUp() {
	t.end()
	t.l.GivenUp()
}

// end ends what is under way; the caller holds the lock.
func (t *Ticket) end() {
	t.over = true
	close(t.ended)
	for _, u := range t.units {
		u.group.Abandon()
	}
}

// End ends the ticket. Where the last Next did not come before, nothing is known
// of the build, and those who wait for it go on.
func (t *Ticket) End() {
	t.l.threads.CompareAndDelete(t.thread, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
	case t.asked:
		t.giveUp()
	default:
		t.end()
	}
}
