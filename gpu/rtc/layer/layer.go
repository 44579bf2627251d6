// Package layer answers an interposer between an application and its run-time compiler (shim/nvrtc,
// shim/hiprtc, shim/nvjitlink and shim/nvvm, through capi/kernstash_front.h): for each compile it says what would come of it, or takes
// what came of it.
//
// It calls no compiler: the interposer's thread drives the engine, as a kernstash.Context does, so keys,
// locks, coalescing and statistics are those of package rtc. Nothing is kept in memory.
package layer

import (
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use; what is to
// happen has the numbers of [rtc.API].
type Layer struct {
	inprocess.FrontEnd
	missed func() (over func())

	mu       sync.Mutex
	contexts map[[2]uintptr]*libraryContext // by the API, and by the address of the CompileProgram
}

// Open opens the cache for the process. missed is called when the header files of a program
// are read and scanned, and what it returns when that is over; it may be nil. An error, which
// wraps inprocess.ErrOut, says why every program is the compiler's own affair.
func Open(o inprocess.Options, missed func() (over func())) (*Layer, error) {
	const name = "rtc"
	g, err := inprocess.Open(o, name)
	if err != nil {
		return nil, err
	}
	return &Layer{FrontEnd: g.FrontEnd(name), missed: missed, contexts: make(map[[2]uintptr]*libraryContext)}, nil
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
		return nil, front.Step{}, true
	}
	step, ok := t.Wait(inprocess.AtOnce)
	return t, step, ok
}

// begin begins a request. An error says why it is passed through, which is counted.
func (l *Layer) begin(r *Request) (*inprocess.Ticket, error) {
	p, err := l.libraryContext(r)
	var own engine.Request
	if err == nil {
		own, err = p.library.EngineRequest(r.Program)
	}
	if err == nil {
		err = rtc.Unchanged(own.Attributes, r.Began)
	}
	if err != nil {
		l.pass(r.API, err.Error())
		return nil, err
	}
	t := p.frontEnd.Ticket(p.session, own, l.missed)
	began := r.Began
	t.Outcome = func(result front.Message) inprocess.Outcome { return p.outcome(result, began) }
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
	l.Instance.FrontEnd(api.String()).Pass(reason.PassedOther, detail)
}

// Tell counts what an interposer passed through by itself, for a reason.
func (l *Layer) Tell(what uint32, event front.Message) {
	for _, f := range event {
		if f.Tag == front.Passed {
			l.pass(rtc.API(what), f.Text())
		}
	}
}

// outcome returns what a message says of a compile; one that makes no sense says nothing.
func (p *libraryContext) outcome(result front.Message, began time.Time) inprocess.Outcome {
	o, out, unfit, err := outcome(result)
	if err != nil {
		return inprocess.Outcome{}
	}
	o.Made = func(r *key.Recipe) engine.Outcome {
		if unfit != "" {
			return engine.Outcome{Unfit: unfit}
		}
		return p.artifact(r, out, o.Took, began)
	}
	return o
}

// artifact returns what is to be stored of a compile.
func (p *libraryContext) artifact(r *key.Recipe, o *rtc.Output, took time.Duration, began time.Time) engine.Outcome {
	if p.library.Confirm() != nil {
		return engine.Outcome{}
	}
	if err := rtc.Unchanged(r.Options.Attributes, began); err != nil {
		return engine.Outcome{Unfit: err.Error()}
	}
	a, err := o.Artifact(r)
	var unfit *kernstash.UnfitError
	switch {
	case errors.As(err, &unfit):
		return engine.Outcome{Unfit: unfit.Why}
	case err != nil:
		return engine.Outcome{Unfit: err.Error()}
	}
	return engine.Outcome{Artifact: a}
}

// libraryContext is a library, and the engine's session of it. It lives as long as the process.
type libraryContext struct {
	library  *rtc.Library
	frontEnd inprocess.FrontEnd
	session  *engine.Session
}

// maxContexts bounds what is remembered: a process may load and unload libraries.
const maxContexts = 64

// libraryContext returns that of a request's library.
func (l *Layer) libraryContext(r *Request) (*libraryContext, error) {
	id := [2]uintptr{uintptr(r.API), r.Compile}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.contexts[id]; known != nil {
		return known, nil
	}
	library, err := rtc.Loaded(r.API, r.Compile, r.Major, r.Minor)
	if err != nil {
		return nil, err
	}
	own := &libraryContext{library: library, frontEnd: l.Instance.FrontEnd(r.API.String())}
	own.session = l.Cache.Engine().Session(rtc.Host{Runtime: rtc.Runtime{Library: library}}, engine.SessionOptions{
		OptionsAsGiven: true, Share: true, Decided: own.frontEnd.Decided,
	})
	if len(l.contexts) >= maxContexts {
		clear(l.contexts) // they are made again
	}
	l.contexts[id] = own
	own.frontEnd.Report(runlog.Event{Kind: runlog.Loaded})
	return own, nil
}
