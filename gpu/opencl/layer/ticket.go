package layer

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/randomname"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

// ticket is a request under way, a [front.Session].
type ticket struct {
	*inprocess.Ticket
	l             *Layer
	deviceContext *deviceContext
	request       engine.Request
	ordinals      []int         // of each device of the request in the deviceContext
	thread        int           // the caller's
	units         []*unit       // of each part, once it was told what is to be done
	saved         time.Duration // what was counted as saved, of a unit that is compiled only
}

// first is the first Wait. The thread has the ticket open from then on.
func (t *ticket) first() (front.Step, bool) {
	step, ok := t.Wait(inprocess.AtOnce)
	if t.thread != 0 {
		t.l.threads.Store(t.thread, t)
	}
	return step, ok
}

// serve tells what is to be done for each device of the request.
func (t *ticket) serve(parts []inprocess.Part) front.Message {
	if t.units == nil {
		for i := range parts {
			t.units = append(t.units, t.unit(&parts[i]))
		}
	}
	m := make(front.Message, 0, 8*len(t.ordinals)) // with a kernel or two of each
	for i := range t.ordinals {
		for _, u := range t.units {
			if slices.Contains(u.places, i) {
				a := u.serve()
				m = a.appendTo(m)
			}
		}
	}
	return m
}

// unit returns the unit of a part.
func (t *ticket) unit(p *inprocess.Part) *unit {
	u := &unit{Part: p, job: p.Group.Job(), compile: t.deviceContext.compile}
	u.made.recipe, u.object = u.job.Recipe, u.compile && t.request.Image.ReadsFiles()
	u.kind, u.wanted = t.deviceContext.kind(u.job.Devices[0]), !u.job.Key.IsZero() && t.l.Cache.Writes()
	for i, ordinal := range t.ordinals {
		if slices.Contains(u.job.Devices, ordinal) {
			u.places = append(u.places, i)
		}
	}
	return u
}

// Next takes how it ended, for each device of the request, and says what follows: Hit for what
// the driver refused, else Done.
func (t *ticket) Next(result front.Message) (front.Step, bool) {
	outcomes, _ := outcomesOf(result) // none of what makes no sense, which ends the ticket
	if len(outcomes) != len(t.ordinals) || !t.Answer(false) {
		t.Ticket.End()
		return front.Step{}, true
	}
	again, givenUp := false, false
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
	if again && !givenUp {
		return t.Wait(inprocess.AtOnce)
	}
	t.Ticket.End()
	step := front.Step{Action: front.Done}
	switch {
	case givenUp:
		t.l.GivenUp()
	case t.deviceContext.compile:
		step.Program, step.Saved = t.compiled(), t.saved
	default:
		step.Program = t.follow()
	}
	if !givenUp {
		for _, u := range t.units {
			u.artifact = nil // whose memory the next hit may be read into
			u.Group.Release()
		}
	}
	t.waitStored(outcomes)
	return step, true
}

// done says how it ended for a unit.
func (t *ticket) done(u *unit, outcomes []*Outcome) error {
	a, err := u.end(outcomes)
	took := u.Took()
	if u.artifact == nil && t.deviceContext.Delivery(u.job) == engine.Elsewhere {
		took = 0 // the compiler alone
		for _, o := range outcomes {
			took = max(took, o.Took)
		}
	}
	if errors.Is(err, errRejected) {
		u.Rejected(err)
		return err
	}
	u.ended, u.good = true, err == nil
	switch {
	case errors.Is(err, errAbandoned):
		u.Group.Abandon()
	case err != nil:
		u.Group.Failed(err, took)
	case u.artifact == nil:
		u.kept = u.Group.Built(engine.Outcome{Artifact: a, Took: took, Kernels: u.kernels})
		u.made.cost = u.Group.Cost()
	case u.compile && u.built:
		u.Group.Abandon()
		of := engine.Decision{Size: u.job.Recipe.Image.Size()}
		t.l.compiledAnyway(u.job.Key, of.Label(), took, 0)
	default:
		u.Group.Loaded(took)
		u.kept = !u.Shared // else whoever built it knows
		if u.compile && !u.Shared {
			t.saved += u.artifact.Cost - took
		}
	}
	if a != nil {
		u.artifact = a
	}
	if u.artifact != nil {
		u.made.ready, u.made.there = u.artifact.Variants, true
	}
	return err
}

// waitStored waits a little for what was built to be stored, or left to the worker, and for
// what was found after a look at header files to be told.
func (t *ticket) waitStored(outcomes []Outcome) {
	var took time.Duration
	found := false
	for i := range outcomes {
		switch outcomes[i].Result {
		case front.Built:
			took += outcomes[i].Took
		case front.Restored:
			found = true
		}
	}
	if took > 0 || found && t.Searched() {
		t.l.WaitStored(took, t.l.jobs.wait)
	}
}

// follow leaves to the worker what it is to do for what was made, and returns the number
// of the program, for its launches or its answers; 0: nothing more of it is of interest.
func (t *ticket) follow() (number uint64) {
	var deferred []part
	for _, u := range t.units {
		if !u.good || !u.kept || u.Group.Job().Key.IsZero() {
			continue
		}
		switch u.kind {
		case opencl.Intermediate:
			if u.artifact != nil && u.artifact.Binaries[0].Form != store.FormFinal {
				t.l.jobs.add(u.made, spool.Finish, nil)
			}
		case opencl.Deferred:
			deferred = append(deferred, u.made)
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
// ended, can be linked, 0 where it reads no files. If the driver compiled it just now, it
// counts only if the files are still what they were when they were looked at.
func (t *ticket) compiled() (number uint64) {
	good, built := true, false
	for _, u := range t.units {
		good, built = good && u.good, built || u.built
	}
	files := t.deviceContext.session.Snapshot(t.request)
	if !good || files == nil || built && files.Changed() != "" {
		return 0
	}
	return t.l.programs.add(program{compiled: &compiled{deviceContext: t.deviceContext, files: files}})
}

// End ends the ticket. Where the last Next did not come before, nothing is known
// of the build, and those who wait for it go on.
func (t *ticket) End() {
	t.l.threads.CompareAndDelete(t.thread, t)
	t.Ticket.End()
}

// unit is the part of a ticket for a group of equal devices: an artifact is to be restored, or
// a program to be built.
type unit struct {
	*inprocess.Part
	job     engine.Job // as it was asked for
	places  []int      // of its devices in the request
	compile bool       // only
	object  bool       // what the compiler makes is kept: it reads header files
	wanted  bool       // what is built is to be stored
	kind    opencl.Kind

	// What is to be done, and once it has ended what there is.
	artifact *store.Artifact // nil: build
	unread   int64           // bytes of an answer that was not read

	// How it ended.
	ended bool
	good  bool // a program was made
	built bool // the driver built, whatever it was given
	made  part // as jobs of the worker tell of it

	kernels []string // names, of what the driver built
	kept    bool     // there is an artifact in the cache, or will be
}

// How a unit ends without a program; inprocess.ErrRefused is the compiler's own verdict.
var (
	errRejected  = errors.New("the driver refused it") // an artifact
	errAbandoned = errors.New("given up")              // nothing is known
)

// serve returns what the layer is told to do for each device.
func (u *unit) serve() Artifact {
	if u.ended {
		return Artifact{Kind: opencl.Deferred} // a program was made, or will not be
	}
	u.artifact, u.unread = u.Artifact, 0
	switch {
	case u.artifact != nil:
		out := served(u.artifact, u.kind)
		u.unread = out.Unread
		return out
	case !u.wanted, u.compile && !u.object:
		return Artifact{Kind: opencl.Deferred} // no binary is asked for
	}
	return Artifact{Kind: u.kind}
}

// served returns a stored artifact as the layer is told of it. Its first binary is the one to load.
func served(a *store.Artifact, kind opencl.Kind) Artifact {
	out := Artifact{Log: a.Log, Kernels: a.Kernels, Kind: kind}
	if len(a.Binaries) == 0 {
		return out
	}
	out.Binary = a.Binaries[0].Data
	for _, b := range a.Binaries[1:] {
		if b.Form == store.FormIntermediate {
			out.Answer = b.Data
		}
	}
	for _, b := range a.Rest {
		if b.Form == store.FormIntermediate {
			out.Unread = b.Size
		}
	}
	return out
}

// end takes how it ended for each of the devices, and returns the artifact of what
// was built, nil if there is nothing to store of it.
func (u *unit) end(outcomes []*Outcome) (*store.Artifact, error) {
	has := func(r front.Result) int {
		return slices.IndexFunc(outcomes, func(o *Outcome) bool { return o.Result == r })
	}
	u.built = has(front.Built) >= 0
	if has(front.Abandoned) >= 0 {
		return nil, errAbandoned
	}
	if u.artifact != nil {
		if has(front.Refused) >= 0 || has(front.Failed) >= 0 {
			return nil, errRejected
		}
		if has(front.Restored) >= 0 {
			u.made.log, u.made.cost = u.artifact.Log, u.artifact.Cost
			return nil, nil
		}
	}
	if has(front.Failed) >= 0 {
		return nil, inprocess.ErrRefused
	}
	if i := has(front.Built); i >= 0 {
		u.made.log = outcomes[i].Artifact.Log
		for _, k := range outcomes[i].Artifact.Kernels {
			u.kernels = append(u.kernels, k.Name)
		}
		return u.taken(outcomes[i]), nil
	}
	return nil, errAbandoned
}

// taken returns the artifact of what was built, in memory of its own; nil where
// there is nothing to store.
func (u *unit) taken(o *Outcome) *store.Artifact {
	binary := o.Artifact.Binary
	if u.compile && !u.object {
		binary = compiles
	}
	if len(binary) == 0 || u.kind == opencl.Deferred || !u.wanted || randomname.IsIn(o.Artifact.Log) ||
		!u.compile && opencl.FromDriversCache(u.job.Recipe, binary) {
		return nil
	}
	form := store.FormFinal
	if u.kind == opencl.Intermediate {
		form = store.FormIntermediate
	}
	return &store.Artifact{
		Binaries: []store.Binary{{Form: form, Data: bytes.Clone(binary)}},
		Log:      o.Artifact.Log, Kernels: o.Artifact.Kernels,
	}
}
