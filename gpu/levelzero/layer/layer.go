package layer

import (
	"errors"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use.
type Layer struct {
	inprocess.Door
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
	l := &Layer{Door: g.Door(name)}
	l.Report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

// Begin implements [front.Adapter].
func (l *Layer) Begin(r *front.Request) (front.Session, front.Step, bool) {
	own, err := request(r.Message)
	var t *ticket
	if err == nil {
		t, err = l.begin(own)
	}
	if err != nil {
		l.pass(whyPassed(err), err.Error())
		return nil, front.Step{}, true
	}
	step, ok := t.Wait(inprocess.AtOnce)
	return t, step, ok
}

// begin begins a request. An error says why the engine is not asked about it.
func (l *Layer) begin(r *Request) (*ticket, error) {
	own, err := r.engine()
	if err != nil {
		return nil, err
	}
	p, err := l.pools.find(l, r)
	if err != nil {
		return nil, err
	}
	return &ticket{inprocess.Ticket{Drive: l.Drive(p.session, own, nil), Serve: served}}, nil
}

// whyPassed returns why the engine is not asked about a request.
func whyPassed(err error) reason.Reason {
	if errors.Is(err, errUnknown) {
		return reason.PassedInputs
	}
	return reason.PassedOther
}

// pass counts a request that is passed through. The driver compiles it, unless it is a binary.
func (l *Layer) pass(why reason.Reason, detail string) {
	if why != reason.PassedBinary {
		drivers.SteadySwitches(dl.Environ())
	}
	l.Pass(why, detail)
}

// Tell counts what an interposer passed through by itself, for a reason.
func (l *Layer) Tell(_ uint32, event front.Message) {
	for _, f := range event {
		if f.Tag != front.Passed {
			continue
		}
		why := reason.PassedOther
		if f.Text() == runlog.ReasonBinary {
			why = reason.PassedBinary
		}
		l.pass(why, f.Text())
	}
}

// request returns what a message asks for, whose modules are C's.
func request(m front.Message) (*Request, error) {
	r := new(Request)
	var directories uint64
	for _, f := range m {
		switch f.Tag {
		case front.Function:
			if f.Detail >= uint32(len(r.Queries)) {
				return nil, f.Unexpected()
			}
			r.Queries[f.Detail] = f.Address()
		case front.Device:
			r.Device = f.Address()
		case front.Code:
			r.Modules = append(r.Modules, f.Data)
		case front.Options:
			r.Flags = f.Text()
		case front.Constant:
			r.Constants = append(r.Constants, Constant{ID: f.Detail, At: f.Address()})
		case front.Environment:
			r.Environ = f.Environ()
		case front.Directories:
			directories = f.Number
		default:
			return nil, f.Unexpected()
		}
	}
	drivers.IntelSettings.Saw(directories&front.Settings != 0, directories&front.Moved != 0)
	return r, nil
}

// outcome returns what a message says of a module; its binary is C's.
func outcome(result front.Message) *Outcome {
	o := new(Outcome)
	for _, f := range result {
		switch f.Tag {
		case front.Ended:
			o.Result, o.Took = front.Result(f.Detail), f.Duration()
		case front.Status: // the driver's, which the application has seen
		case front.Binary:
			o.Native = f.Data
		case front.Log:
			o.Log = f.Text()
		case front.Kernel:
			o.Kernels = append(o.Kernels, f.Text())
		case front.Unknown:
			if f.Detail == 0 {
				o.Unknown.Global = levelzero.Result(f.Number)
			} else {
				o.Unknown.Function = levelzero.Result(f.Number)
			}
		default:
			return new(Outcome) // which ends the ticket
		}
	}
	return o
}
