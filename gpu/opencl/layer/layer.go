package layer

import (
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use.
type Layer struct {
	inprocess.FrontEnd
	drivers  drivers
	pools    pools
	threads  sync.Map // thread → *Ticket that it has open
	programs programs
	jobs     jobs
}

// Options configure Open.
type Options struct {
	Settings settings.Inputs // Lenient is set

	// Left is called, off the application's path, when there is a new job for the
	// worker of the cache; may be nil.
	Left func(cache.Jobs)
}

// Open opens the cache for the process. An error, which wraps inprocess.ErrOut, says why every
// program is the driver's own to build.
func Open(o Options) (*Layer, error) {
	const name = "opencl-layer" // in the report of a run
	g, err := inprocess.Open(o.Settings, name)
	if err != nil {
		return nil, err
	}
	l := &Layer{FrontEnd: g.FrontEnd(name)}
	l.drivers.known, l.drivers.devices = make(map[[3]uintptr]*opencl.Platform), make(map[uintptr]*opencl.Device)
	l.pools.all, l.programs.all = make(map[string]*pool), make(map[uint64]program)
	l.jobs.frontEnd, l.jobs.left = l.FrontEnd, make(map[string][]string)
	if o.Left != nil {
		l.jobs.told = func() { o.Left(l.Cache.Jobs()) }
	}
	l.Report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

// Close waits for what is to be stored and noted, after all tickets have ended. Processes
// need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	l.settle()
	return l.FrontEnd.Close()
}

// settle waits until nothing goes on for tickets that have ended.
func (l *Layer) settle() {
	l.Quiesce()
	l.jobs.wait()
}

// ask begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass there may be no ticket.
func (l *Layer) ask(r *Request) (_ *Ticket, reply Reply, ok bool) {
	// The thread would wait for itself if it asked for the same program, and two such threads
	// for each other.
	if _, busy := l.threads.Load(r.Thread); busy {
		return nil, l.pass(reason.PassedBusy, "the thread builds another program"), true
	}
	t, err := l.ticket(r)
	if err != nil {
		return nil, l.pass(whyPassed(err), err.Error()), true
	}
	if r.Thread != 0 {
		l.threads.Store(r.Thread, t)
	}
	err = l.Guard(func() error {
		t.search()
		reply, ok = t.Wait(inprocess.AtOnce)
		return nil
	})
	if err != nil {
		t.End()
		return nil, l.failed(err), true
	}
	return t, reply, ok
}

// ticket returns the ticket of a request; an error says why the engine is not asked.
func (l *Layer) ticket(r *Request) (*Ticket, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	devices := make([]*opencl.Device, len(r.Devices))
	for i, handle := range r.Devices {
		var err error
		if devices[i], err = l.drivers.find(r.Driver, r.Environ, handle); err != nil {
			return nil, err
		}
	}
	pool, ordinals, err := l.pools.find(l.FrontEnd, devices, r.What == Compile)
	if err != nil {
		return nil, err
	}
	request, err := r.core(devices[0].TellsNoOptions(), l.programs.units(r), pool)
	if err != nil {
		return nil, err
	}
	full := l.programs.full()
	if r.What == Compile && request.Image.ReadsFiles() && full {
		return nil, errTooManyUnits
	}
	now := time.Now()
	return &Ticket{
		l: l, pool: pool, request: request.Clone(), ordinals: ordinals, thread: r.Thread, begun: now, from: now, ended: make(chan struct{}),
		// The linked program is the application's own: there is none that could be
		// built to be asked, if the rest is gone by then.
		later: r.What == Build && !full,
	}, nil
}

// whyPassed returns why the engine is not asked about a request.
func whyPassed(err error) reason.Reason {
	switch {
	case errors.Is(err, errMixed), errors.Is(err, errFiles):
		return reason.PassedInputs
	case errors.Is(err, errLibraryOption):
		return reason.PassedOptions
	}
	return reason.PassedOther
}

// pass counts a request that is passed through.
func (l *Layer) pass(why reason.Reason, detail string) Reply {
	return Reply{Action: front.Pass, Reason: l.Pass(why, detail)}
}

// failed is pass for what the engine says.
func (l *Layer) failed(err error) Reply {
	return Reply{Action: front.Pass, Reason: l.PassFailed(err)}
}
