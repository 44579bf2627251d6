package layer

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is safe for concurrent use.
type Layer struct {
	door     inprocess.Door
	drivers  drivers
	pools    pools
	tickets  tickets
	last     atomic.Uint64 // number of a program
	launches numbered[launches]
	compiled numbered[compiled] // units that may be linked
	answers  numbered[answers]
	jobs     jobs
}

// Options configure Open.
type Options struct {
	Settings settings.Inputs // Lenient is set
	Door     string          // for the report of a run; "" is "opencl-layer"

	// Left is called, off the application's path, when there is a new job for the
	// worker of the cache; may be nil.
	Left func(cache.Jobs)
}

var errClosed = errors.New("the cache is closed")

// ErrOut is wrapped by Open where the cache is to stay out of the process.
var ErrOut = inprocess.ErrOut

// Open opens the cache for the process. An error says why every program is the
// driver's own to build.
func Open(o Options) (*Layer, error) {
	name := cmp.Or(o.Door, "opencl-layer")
	g, err := inprocess.Open(o.Settings, name)
	if err != nil {
		return nil, err
	}
	l := &Layer{door: g.Door(name)}
	l.jobs.l = l
	if o.Left != nil {
		l.jobs.told = func() { o.Left(l.Cache().Jobs()) }
	}
	l.door.Report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

// Cache returns the cache, for its statistics.
func (l *Layer) Cache() *cache.Cache { return l.door.Cache }

// Close ends the tickets that are open, and waits for what is to be stored and
// noted. Processes need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	l.tickets.close()
	l.settle()
	return l.door.Close()
}

// settle waits until nothing goes on for tickets that have ended.
func (l *Layer) settle() {
	l.door.Settle()
	l.jobs.wait()
}

// atOnce is how long Begin waits itself: as long as it takes to find an artifact
// where nothing is in the way.
const atOnce = 5 * time.Millisecond

// Begin begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass there may be no ticket.
func (l *Layer) Begin(r *Request) (_ *Ticket, reply Reply, ok bool) {
	if err := r.check(); err != nil {
		return nil, l.pass(reason.PassedOther, err.Error()), true
	}
	if l.tickets.busy(r.Thread) {
		return nil, l.pass(reason.PassedBusy, "the thread builds another program"), true
	}
	devices := make([]*device, len(r.Devices))
	for i, handle := range r.Devices {
		d, err := l.drivers.find(r, handle)
		if err != nil {
			return nil, l.pass(reason.PassedOther, err.Error()), true
		}
		devices[i] = d
	}
	pool, ordinals, err := l.pools.find(l, devices, r.What == Compile)
	if err != nil {
		return nil, l.pass(reason.PassedOther, err.Error()), true
	}
	known := l.knownUnits(r)
	request, err := r.core(devices[0].TellsNoOptions(), known, pool)
	if err == nil && r.What == Compile && request.Image.ReadsFiles() && l.compiled.full() {
		err = errTooManyUnits
	}
	if err != nil {
		return nil, l.pass(whyPassed(err), err.Error()), true
	}
	t := &Ticket{
		l: l, pool: pool, request: request, ordinals: ordinals, thread: r.Thread, begun: time.Now(), ended: make(chan struct{}),
		// The linked program is the application's own: there is none that could be
		// built to be asked, if the rest is gone by then.
		first: r.What == Build && !l.answers.full(),
	}
	if !l.tickets.add(t) {
		return nil, l.failed(errClosed), true
	}
	err = l.door.Guard(func() error {
		t.search(request)
		reply, ok = t.Wait(atOnce)
		return nil
	})
	if err != nil {
		t.End()
		return nil, l.failed(err), true
	}
	return t, reply, ok
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
	return Reply{Action: front.Pass, Reason: l.door.Pass(why, detail)}
}

// failed is pass for what the engine says.
func (l *Layer) failed(err error) Reply {
	return Reply{Action: front.Pass, Reason: l.door.PassFailed(err)}
}

// Passed counts what a layer passed through by itself, for a reason.
func (l *Layer) Passed(detail string) {
	why, ok := passedReasons[detail]
	if !ok {
		why = reason.PassedOther
	}
	l.pass(why, detail)
}

// passedReasons are the details that have a reason of their own.
var passedReasons = map[string]reason.Reason{
	runlog.ReasonBinary:      reason.PassedBinary,
	"link of unknown inputs": reason.PassedInputs,
	"side effects":           reason.PassedOptions,
	"library":                reason.PassedOptions,
}
