package layer

import (
	"errors"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is safe for concurrent use.
type Layer struct {
	door  inprocess.Door
	pools pools
}

// Options configure Open.
type Options struct {
	Settings settings.Inputs // Lenient is set
}

// Open opens the cache for the process. An error, which wraps inprocess.ErrOut, says why
// every module is the driver's own to build.
func Open(o Options) (*Layer, error) {
	const name = "levelzero"
	g, err := inprocess.Open(o.Settings, name)
	if err != nil {
		return nil, err
	}
	l := &Layer{door: g.Door(name)}
	l.door.Report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

// Cache returns the cache, for its statistics.
func (l *Layer) Cache() *cache.Cache { return l.door.Cache }

// Close waits for what is to be stored and noted, after all tickets have ended. Processes
// need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	l.door.Settle()
	return l.door.Close()
}

// atOnce is how long Begin and Next wait themselves: as long as it takes to find an
// artifact where nothing is in the way.
const atOnce = 5 * time.Millisecond

// Begin begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass there may be no ticket.
func (l *Layer) Begin(r *Request) (t *Ticket, reply Reply, ok bool) {
	request, err := r.engine()
	if err != nil {
		return nil, l.pass(whyPassed(err), err.Error()), true
	}
	p, err := l.pools.find(l, r)
	if err != nil {
		return nil, l.pass(reason.PassedOther, err.Error()), true
	}
	t = &Ticket{l.door.Drive(p.session, request, nil), l}
	reply, ok = t.Wait(atOnce)
	return t, reply, ok
}

// whyPassed returns why the engine is not asked about a request.
func whyPassed(err error) reason.Reason {
	if errors.Is(err, errUnknown) {
		return reason.PassedInputs
	}
	return reason.PassedOther
}

// pass counts a request that is passed through. The driver compiles it, unless it is a binary.
func (l *Layer) pass(why reason.Reason, detail string) Reply {
	if why != reason.PassedBinary {
		drivers.SteadySwitches(dl.Environ())
	}
	return Reply{Action: front.Pass, Reason: l.door.Pass(why, detail)}
}

// Passed counts what an interposer passed through by itself, for a reason.
func (l *Layer) Passed(detail string) {
	why := reason.PassedOther
	if detail == runlog.ReasonBinary {
		why = reason.PassedBinary
	}
	l.pass(why, detail)
}
