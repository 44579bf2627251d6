package layer

import (
	"bytes"
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// OpenFront opens a layer for front ends in C. What is to happen has the numbers of
// [rtc.API].
func OpenFront(o Options) (front.Adapter, error) {
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	return adapter{l.guest.Door("rtc"), l}, nil
}

// adapter makes messages of what a layer takes and returns.
type adapter struct {
	inprocess.Door
	l *Layer
}

func (a adapter) Begin(r *front.Request) (front.Session, front.Step, bool) {
	own, err := request(r)
	if err != nil {
		a.Pass(reason.PassedOther, err.Error())
		return nil, front.Step{}, true
	}
	t, reply, ok := a.l.Begin(own)
	if t == nil {
		return nil, reply.step(), ok
	}
	return session{t}, reply.step(), ok
}

func (a adapter) Tell(what uint32, event front.Message) {
	for _, f := range event {
		if f.Tag == front.Passed {
			a.l.Passed(f.Text(), rtc.API(what).String())
		}
	}
}

type session struct{ *Ticket }

func (s session) Wait(d time.Duration) (front.Step, bool) {
	reply, ok := s.Ticket.Wait(d)
	return reply.step(), ok
}

func (s session) Next(result front.Message) (front.Step, bool) {
	o, err := outcome(result)
	if err != nil {
		return front.Step{Action: front.Pass}, true
	}
	s.Done(o)
	return front.Step{Action: front.Done}, true
}

// request returns what a message asks for, whose source and headers are C's.
func request(r *front.Request) (*Request, error) {
	own := &Request{API: rtc.API(r.What)}
	p := &own.Program
	for _, f := range r.Message {
		switch f.Tag {
		case front.Function:
			own.Compile = f.Address()
		case front.Version:
			own.Major, own.Minor = int(int32(f.Detail)), int(int32(f.Number))
		case front.Code:
			if n := len(p.Headers); n > 0 {
				p.Headers[n-1].Content = f.Data
			} else {
				p.Source = f.Data
			}
		case front.Name:
			p.Name = f.Text()
			if f.Data != nil && p.Name == "" {
				return nil, f.Unexpected()
			}
		case front.Header:
			p.Headers = append(p.Headers, key.Header{Name: f.Text()})
		case front.Options:
			p.Options = append(p.Options, f.Text())
		case front.Expression:
			p.Expressions = append(p.Expressions, f.Text())
		default:
			return nil, f.Unexpected()
		}
	}
	if own.Compile == 0 || p.Source == nil {
		return nil, front.ErrMessage
	}
	return own, nil
}

// outcome returns what a message says of a compile, in memory of its own.
func outcome(result front.Message) (*Outcome, error) {
	o := new(Outcome)
	var log rtc.Answer
	var lowered []rtc.Lowered
	forms := make(map[rtc.Form]rtc.Answer)
	for _, f := range result {
		own := rtc.Answer{Asked: true, Code: int(int32(f.Number)), Data: f.Data}
		switch f.Tag {
		case front.Ended:
			o.Result, o.Took = front.Result(f.Detail), f.Duration()
		case front.Status:
			o.Code = int(int32(f.Detail))
		case front.Log:
			log = own
		case front.Binary:
			if f.Detail >= uint32(rtc.Forms()) {
				return nil, f.Unexpected()
			}
			forms[rtc.Form(f.Detail)] = own
		case front.Expression:
			lowered = append(lowered, rtc.Lowered{Expression: f.Text()})
		case front.Lowered:
			if len(lowered) == 0 {
				return nil, f.Unexpected()
			}
			last := &lowered[len(lowered)-1]
			last.Name, last.Code = f.Text(), int(int32(f.Number))
		default:
			return nil, f.Unexpected()
		}
	}
	switch o.Result {
	case front.Built:
		log.Data = bytes.Clone(log.Data)
		for f, a := range forms {
			a.Data = bytes.Clone(a.Data)
			forms[f] = a
		}
		o.Output = rtc.NewOutput(log, forms, lowered)
	default:
		o.Log = string(bytes.TrimRight(log.Data, "\x00"))
	}
	return o, nil
}

// step returns a reply as C gets it. Empty data is none.
func (r Reply) step() front.Step {
	s := front.Step{Action: r.Action}
	if r.Output == nil {
		return s
	}
	add := func(tag front.Tag, form rtc.Form, a rtc.Answer) {
		if a.Asked {
			s.Message = append(s.Message, front.Field{Tag: tag, Detail: uint32(form), Number: uint64(a.Code), Data: a.Data})
		}
	}
	add(front.Log, 0, r.Output.LogAnswer())
	for f := range rtc.Forms() {
		add(front.Binary, f, r.Output.Answer(f))
	}
	for _, n := range r.Output.LoweredNames() {
		to := front.Field{Tag: front.Lowered, Number: uint64(n.Code)}
		if n.Code == 0 {
			to.Data = front.String(n.Name)
		}
		s.Message = append(s.Message, front.Field{Tag: front.Expression, Data: front.String(n.Expression)}, to)
	}
	return s
}
