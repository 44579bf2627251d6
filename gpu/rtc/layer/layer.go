package layer

import (
	"errors"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use; what is to
// happen has the numbers of [rtc.API].
type Layer struct {
	inprocess.Door
	pools  pools
	missed func() (over func())
}

// Options configure Open.
type Options struct {
	Settings settings.Inputs // Lenient is set

	// Missed is called when the header files of a program are read and scanned, and what
	// it returns when that is over. May be nil.
	Missed func() (over func())
}

// Open opens the cache for the process. An error, which wraps inprocess.ErrOut, says why
// every program is the compiler's own affair.
func Open(o Options) (*Layer, error) {
	const name = "rtc"
	g, err := inprocess.Open(o.Settings, name)
	if err != nil {
		return nil, err
	}
	return &Layer{Door: g.Door(name), missed: o.Missed}, nil
}

// Begin implements [front.Adapter].
func (l *Layer) Begin(r *front.Request) (front.Session, front.Step, bool) {
	own, err := request(r)
	if err != nil {
		l.Pass(reason.PassedOther, err.Error())
		return nil, front.Step{}, true
	}
	t, err := l.begin(own)
	if err != nil {
		l.pass(own.API, err.Error())
		return nil, front.Step{}, true
	}
	step, ok := t.Wait(inprocess.AtOnce)
	return t, step, ok
}

// begin begins a request. An error says why the engine is not asked about it.
func (l *Layer) begin(r *Request) (*ticket, error) {
	p, err := l.pools.find(l, r)
	if err != nil {
		return nil, err
	}
	own, err := p.library.EngineRequest(r.Program)
	if err != nil {
		return nil, err
	}
	t := &ticket{inprocess.Ticket{Drive: p.door.Drive(p.session, own, l.missed)}, p}
	name := r.Program.Name // the rest of r may be C's, for this call
	t.Serve = func(a *store.Artifact) (front.Message, error) {
		o, err := rtc.FromArtifact(a, name)
		if err != nil {
			return nil, err
		}
		t.Restored() // C answers from it
		return served(o), nil
	}
	return t, nil
}

// pass counts a request to an interface that is passed through.
func (l *Layer) pass(api rtc.API, detail string) {
	l.Guest.Door(api.String()).Pass(reason.PassedOther, detail)
}

// Tell counts what an interposer passed through by itself, for a reason.
func (l *Layer) Tell(what uint32, event front.Message) {
	for _, f := range event {
		if f.Tag == front.Passed {
			l.pass(rtc.API(what), f.Text())
		}
	}
}

// ticket is a compile under way.
type ticket struct {
	inprocess.Ticket
	pool *pool
}

// Next implements [front.Session]. After End nothing is taken.
func (t *ticket) Next(result front.Message) (front.Step, bool) {
	o, err := outcome(result)
	if err != nil {
		return front.Step{Action: front.Pass}, true
	}
	t.done(o)
	return front.Step{Action: front.Done}, true
}

// done takes how the compile ended, and ends the ticket.
func (t *ticket) done(o *Outcome) {
	switch o.Result {
	case front.Built:
		t.Built(o.Took, func(r *key.Recipe) engine.Outcome { return t.pool.artifact(r, o) })
	case front.Failed:
		t.Refused()
	}
	t.End()
}

// artifact returns what is to be stored of a compile.
func (p *pool) artifact(r *key.Recipe, o *Outcome) engine.Outcome {
	if o.Output == nil || p.library.Confirm() != nil {
		return engine.Outcome{}
	}
	a, err := o.Output.Artifact(r)
	var unfit *kernstash.UnfitError
	switch {
	case errors.As(err, &unfit):
		return engine.Outcome{Unfit: unfit.Why}
	case err != nil:
		return engine.Outcome{Unfit: err.Error()}
	}
	a.Cost = o.Took
	return engine.Outcome{Artifact: a}
}
