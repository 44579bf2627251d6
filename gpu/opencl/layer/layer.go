// Package layer answers a layer between an application and its OpenCL driver (shim/opencl, through
// capi/kernstash_front.h): for each program that the application builds it says what to restore it
// from, and takes what was built instead.
//
// It never calls a driver but to ask what a device is. Programs are made by the layer itself, in
// frames of C. An [inprocess.Ticket] drives a transaction of the engine for each request, on the
// thread of its caller; only a search for header files has a goroutine of its own. So keys, locks,
// coalescing, header files and statistics are the very same as those of gpu/opencl.
//
// Nothing is kept in memory once a program is made: each cl_program of the
// application needs an object of the driver's own.
package layer

import (
	"errors"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use.
type Layer struct {
	inprocess.FrontEnd
	drivers        drivers
	deviceContexts deviceContexts
	threads        sync.Map // thread → *ticket that it has open
	programs       programs
	jobs           jobs
}

// Options configure Open.
type Options struct {
	inprocess.Options

	// Left, which may be nil, is called off the application's path when there is a new job.
	Left func(cache.Jobs)
}

// Open opens the cache for the process. An error, which wraps inprocess.ErrOut, says why every
// program is the driver's own to build.
func Open(o Options) (*Layer, error) {
	const name = "opencl-layer" // in the report of a run
	in, err := inprocess.Open(o.Options, name)
	if err != nil {
		return nil, err
	}
	l := &Layer{FrontEnd: in.FrontEnd(name)}
	l.drivers.known, l.drivers.devices = make(map[[3]uintptr]*opencl.Platform), make(map[uintptr]*opencl.Device)
	l.deviceContexts.all, l.programs.all = make(map[string]*deviceContext), make(map[uint64]program)
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
	l.Quiesce()
	l.jobs.wait()
	return l.FrontEnd.Close()
}

// errThread is why a thread's request within another one is passed through: it would wait for
// itself if it asked for the same program, and two such threads for each other.
var errThread = errors.New("the thread builds another program")

// ticket returns the ticket of a request; an error says why the engine is not asked.
func (l *Layer) ticket(r *Request) (*ticket, error) {
	if _, busy := l.threads.Load(r.Thread); busy {
		return nil, errThread
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	devices := make([]*opencl.Device, len(r.Devices))
	for i, handle := range r.Devices {
		var err error
		if devices[i], err = l.drivers.find(r, handle); err != nil {
			return nil, err
		}
	}
	deviceContext, ordinals, err := l.deviceContexts.find(l.FrontEnd, devices, r.What == Compile)
	if err != nil {
		return nil, err
	}
	request, err := r.core(deviceContext, &l.programs)
	if err != nil {
		return nil, err
	}
	full := l.programs.full()
	if r.What == Compile && request.Image.ReadsFiles() && full {
		return nil, errTooManyUnits
	}
	// A linked program is the application's own: there is none that could be built to be asked
	// for the answer, if that is gone by then.
	request.First = r.What == Build && !full
	t := &ticket{l: l, deviceContext: deviceContext, request: request.Clone(), ordinals: ordinals, thread: r.Thread}
	t.Ticket = l.Ticket(deviceContext.session, t.request, nil)
	t.All = t.serve
	return t, nil
}

// whyPassed returns why the engine is not asked about a request.
func whyPassed(err error) reason.Reason {
	switch {
	case errors.Is(err, errThread):
		return reason.PassedBusy
	case errors.Is(err, errMixed), errors.Is(err, errFiles):
		return reason.PassedInputs
	case errors.Is(err, errLibraryOption):
		return reason.PassedOptions
	}
	return reason.PassedOther
}
