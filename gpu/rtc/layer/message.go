package layer

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// Request is a compile that an application asks for. Its bytes may be C's during the
// call that it is given to.
type Request struct {
	API          rtc.API
	Compile      uintptr // the library's CompileProgram
	Major, Minor int     // of its version
	Program      rtc.Request
	Began        time.Time // when its first input was added; zero for one without inputs
}

// request returns what a message asks for, whose source, headers and inputs are C's.
func request(r *front.Request) (*Request, error) {
	own := &Request{API: rtc.API(r.What)}
	p := &own.Program
	for _, f := range r.Message {
		switch f.Tag {
		case front.Function:
			own.Compile, p.Adding = f.Address(), f.Detail == 1
		case front.Version:
			own.Major, own.Minor = int(int32(f.Detail)), int(int32(f.Number))
		case front.Age:
			own.Began = time.Now().Add(-time.Duration(min(f.Number, math.MaxInt64)))
		case front.Unit:
			p.Inputs = append(p.Inputs, rtc.Input{Kind: f.Detail, Too: f.Number != 0})
		case front.Code:
			if n := len(p.Inputs); n > 0 {
				p.Inputs[n-1].Code = f.Data
			} else if n := len(p.Headers); n > 0 {
				p.Headers[n-1].Content = f.Data
			} else {
				p.Source = f.Data
			}
		case front.Name:
			if n := len(p.Inputs); n > 0 {
				p.Inputs[n-1].Named, p.Inputs[n-1].Name = true, f.Text()
				continue
			}
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
	empty := func(in rtc.Input) bool { return in.Code == nil }
	if own.Compile == 0 || p.Source == nil && p.Inputs == nil || slices.ContainsFunc(p.Inputs, empty) {
		return nil, front.ErrMessage
	}
	return own, nil
}

// outcome returns what a message says of a compile, and its output, in memory of its own,
// where it was built; unfit says why that is not to be kept.
func outcome(result front.Message) (o inprocess.Outcome, out *rtc.Output, unfit string, err error) {
	var log rtc.Answer
	var lowered []rtc.Lowered
	forms := make(map[rtc.Form]rtc.Answer)
	for _, f := range result {
		own := rtc.Answer{Asked: true, Code: int(int32(f.Number)), Data: bytes.Clone(f.Data)}
		switch f.Tag {
		case front.Ended:
			o.Result, o.Took = front.Result(f.Detail), f.Duration()
		case front.Status: // the library's, which the application has seen
		case front.Passed:
			unfit = f.Text()
		case front.Log:
			log = own
		case front.Binary:
			if f.Detail >= uint32(rtc.Forms()) {
				return o, nil, "", f.Unexpected()
			}
			forms[rtc.Form(f.Detail)] = own
		case front.Expression:
			lowered = append(lowered, rtc.Lowered{Expression: f.Text()})
		case front.Lowered:
			if len(lowered) == 0 {
				return o, nil, "", f.Unexpected()
			}
			last := &lowered[len(lowered)-1]
			last.Name, last.Code = f.Text(), int(int32(f.Number))
		default:
			return o, nil, "", f.Unexpected()
		}
	}
	if o.Result == front.Built {
		out = rtc.NewOutput(log, forms, lowered)
	}
	return o, out, unfit, nil
}

// served returns an output as C gets it. Empty data is none.
func served(o *rtc.Output) (m front.Message) {
	add := func(tag front.Tag, form rtc.Form, a rtc.Answer) {
		if a.Asked {
			m = append(m, front.Field{Tag: tag, Detail: uint32(form), Number: uint64(a.Code), Data: a.Data})
		}
	}
	add(front.Log, 0, o.LogAnswer())
	for f := range rtc.Forms() {
		add(front.Binary, f, o.Answer(f))
	}
	for _, n := range o.LoweredNames() {
		to := front.Field{Tag: front.Lowered, Number: uint64(n.Code)}
		if n.Code == 0 {
			to.Data = front.String(n.Name)
		}
		m = append(m, front.Field{Tag: front.Expression, Data: front.String(n.Expression)}, to)
	}
	return m
}
