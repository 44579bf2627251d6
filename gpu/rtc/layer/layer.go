package layer

import (
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is safe for concurrent use.
type Layer struct {
	guest   *inprocess.Guest
	pools   pools
	options Options
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
	g, err := inprocess.Open(o.Settings, "rtc")
	if err != nil {
		return nil, err
	}
	return &Layer{guest: g, options: o}, nil
}

// Cache returns the cache, for its statistics.
func (l *Layer) Cache() *cache.Cache { return l.guest.Cache }

// Close waits for what is to be stored and noted, after all tickets have ended. Processes
// need not call it: all of it is done soon after each request.
func (l *Layer) Close() error {
	l.guest.Settle()
	return l.guest.Close()
}

// atOnce is how long Begin waits itself: as long as it takes to find an artifact
// where nothing is in the way.
const atOnce = 5 * time.Millisecond

// Begin begins a request. Where ok is false there is nothing to say yet, and the
// ticket's Wait tells. With Pass and Hit there is no ticket.
func (l *Layer) Begin(r *Request) (t *Ticket, reply Reply, ok bool) {
	p, err := l.pools.find(l, r)
	if err != nil {
		return nil, pass(l.door(r.API), reason.PassedOther, err.Error()), true
	}
	request, err := p.library.EngineRequest(r.Program)
	if err != nil {
		return nil, pass(l.door(r.API), reason.PassedOther, err.Error()), true
	}
	t = &Ticket{Drive: p.door.Drive(p.session, request, l.options.Missed), pool: p, name: r.Program.Name}
	if reply, ok = t.Wait(atOnce); ok && reply.Action != front.Build {
		return nil, reply, true
	}
	return t, reply, ok
}

// door returns where requests of an interface come in.
func (l *Layer) door(api rtc.API) inprocess.Door { return l.guest.Door(api.String()) }

// pass counts a request that is passed through.
func pass(d inprocess.Door, why reason.Reason, detail string) Reply {
	return Reply{Action: front.Pass, Reason: d.Pass(why, detail)}
}

// Passed counts what an interposer passed through by itself, for a reason.
func (l *Layer) Passed(detail, door string) {
	pass(l.guest.Door(door), reason.PassedOther, detail)
}
