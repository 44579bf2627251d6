package layer

import (
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Ticket is a ticket that is no session: what it is told, and says, are no messages.
type Ticket struct{ *ticket }

// Reply is a step.
type Reply struct {
	front.Step
	Artifacts []Artifact // of Hit: one for each device of the request
	Reason    string     // of Pass, where there is no ticket; else see ReportTo
}

// replied returns a step as a reply.
func replied(step front.Step) Reply {
	r := Reply{Step: step}
	for _, f := range step.Message {
		if f.Tag == front.Part {
			r.Artifacts = append(r.Artifacts, Artifact{Kind: opencl.Kind(f.Detail)})
			continue
		}
		o := Outcome{Artifact: r.Artifacts[len(r.Artifacts)-1]}
		if f.Tag == front.Answer {
			o.Artifact.Answer, o.Artifact.Unread = f.Data, int64(f.Number)
		} else if !o.take(f) {
			panic(f.Unexpected())
		}
		r.Artifacts[len(r.Artifacts)-1] = o.Artifact
	}
	return r
}

// message returns outcomes as C tells of them.
func message(outcomes []Outcome) (m front.Message) {
	for _, o := range outcomes {
		a := &o.Artifact
		m = append(m, front.Field{Tag: front.Ended, Detail: uint32(o.Result), Number: uint64(o.Took)},
			front.Field{Tag: front.Status},
			front.Field{Tag: front.Binary, Data: a.Binary}, front.Field{Tag: front.Log, Data: front.String(a.Log)})
		for _, k := range a.Kernels {
			m = append(m, front.Field{Tag: front.Kernel, Data: front.String(k.Name)})
		}
	}
	return m
}

// Ask begins a request that is no message.
func (l *Layer) Ask(r *Request) (*Ticket, Reply, bool) {
	t, err := l.ticket(r)
	if err != nil {
		l.Pass(whyPassed(err), err.Error())
		return nil, Reply{Reason: err.Error()}, true
	}
	step, ok := t.first()
	t.MaxWait = maxWait
	return &Ticket{t}, replied(step), ok
}

// Wait waits for a step.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	step, ok := t.ticket.Wait(d)
	return replied(step), ok
}

// Next tells how it ended for each device.
func (t *Ticket) Next(outcomes []Outcome) (Reply, bool) {
	step, ok := t.ticket.Next(message(outcomes))
	return replied(step), ok
}

// AsNVIDIA has the driver be one whose binaries are assembled again at each load.
func (t *Ticket) AsNVIDIA() {
	for _, u := range t.units {
		u.kind = opencl.Intermediate
	}
}

// Answer asks for the binary of a program for a device.
func (l *Layer) Answer(program uint64, device int) []byte {
	_, step, _ := l.Begin(&front.Request{What: answerOf, Message: front.Message{
		{Tag: front.Unit, Number: program}, {Tag: front.Device, Number: uint64(device)},
	}})
	if step.Action != front.Hit {
		return nil
	}
	return step.Message[0].Data
}

// Released tells that a program was given up.
func (l *Layer) Released(program uint64) {
	l.Tell(0, front.Message{{Tag: front.Released, Number: program}})
}

// Passed tells what was passed through, and why.
func (l *Layer) Passed(detail string) {
	l.Tell(0, front.Message{{Tag: front.Passed, Data: front.String(detail)}})
}

// Compiles tells that the driver is about to compile.
func (l *Layer) Compiles() { l.Tell(0, front.Message{{Tag: front.Compiles}}) }

// CompiledLate tells that something was compiled after all.
func (l *Layer) CompiledLate(took, saved time.Duration) {
	l.Tell(0, front.Message{{Tag: front.CompiledLate, Number: uint64(took)}, {Number: uint64(saved)}})
}

// Launched tells of a launch: offset, global and local size of each dimension.
func (l *Layer) Launched(program uint64, kernel string, dimensions ...[3]uintptr) {
	m := front.Message{{Tag: front.Launched, Number: program, Data: front.String(kernel)}}
	for i := range dimensions {
		d := &dimensions[i]
		m = append(m, front.Field{Tag: front.Sizes, Data: unsafe.Slice((*byte)(unsafe.Pointer(d)), unsafe.Sizeof(*d))})
	}
	l.Tell(0, m)
}

// ReportTo has what becomes of requests told to a file that is there.
func (l *Layer) ReportTo(path string) { l.Log = runlog.At(path) }

// Settle waits until nothing goes on for tickets that have ended.
func (l *Layer) Settle() {
	l.Quiesce()
	l.jobs.wait()
}

// IsOpen reports whether a ticket has not ended.
func (*Layer) IsOpen(t *Ticket) bool {
	_, doing := t.Current()
	step, ok := t.ticket.Wait(0)
	return doing || !ok || step.Action != front.Pass
}

var maxWait = inprocess.MaxWait

// SetMaxWait sets how long a request waits, until what it returns is called.
func SetMaxWait(d time.Duration) (reset func()) {
	was := maxWait
	maxWait = d
	return func() { maxWait = was }
}
