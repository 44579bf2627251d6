package layer

import (
	"time"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/reason"
)

// OpenFront opens a layer for front ends in C.
func OpenFront(o Options) (front.Adapter, error) {
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	return adapter{l.door, l}, nil
}

// adapter makes messages of what a layer takes and returns.
type adapter struct {
	inprocess.Door
	l *Layer
}

func (a adapter) Begin(r *front.Request) (front.Session, front.Step, bool) {
	own, err := request(r.Message)
	if err != nil {
		a.l.pass(reason.PassedOther, err.Error())
		return nil, front.Step{}, true
	}
	t, reply, ok := a.l.Begin(own)
	if t == nil {
		return nil, reply.step(), ok
	}
	return session{t}, reply.step(), ok
}

func (a adapter) Tell(_ uint32, event front.Message) {
	for _, f := range event {
		if f.Tag == front.Passed {
			a.l.Passed(f.Text())
		}
	}
}

type session struct{ *Ticket }

func (s session) Wait(d time.Duration) (front.Step, bool) {
	reply, ok := s.Ticket.Wait(d)
	return reply.step(), ok
}

func (s session) Next(result front.Message) (front.Step, bool) {
	reply, ok := s.Ticket.Next(outcome(result))
	return reply.step(), ok
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
		case front.Status:
			o.Code = int(int32(f.Detail))
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

// step returns a reply as C gets it.
func (r Reply) step() front.Step {
	s := front.Step{Action: r.Action}
	if r.Action != front.Hit {
		return s
	}
	s.Message = append(s.Message,
		front.Field{Tag: front.Binary, Data: r.Native}, front.Field{Tag: front.Log, Data: front.String(r.Log)},
		front.Field{Tag: front.Unknown, Number: uint64(r.Unknown.Global)},
		front.Field{Tag: front.Unknown, Detail: 1, Number: uint64(r.Unknown.Function)})
	for _, name := range r.Kernels {
		s.Message = append(s.Message, front.Field{Tag: front.Kernel, Data: front.String(name)})
	}
	return s
}
