package layer

import (
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/internal/front"
)

// Ask begins a request that is no message.
func (l *Layer) Ask(r *Request) (*Ticket, Reply, bool) { return l.ask(r) }

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

// Settle waits until nothing goes on for tickets that have ended.
func (l *Layer) Settle() { l.settle() }

// IsOpen reports whether a ticket has not ended.
func (*Layer) IsOpen(t *Ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over
}

// SetPatience sets how long a request waits, until what it returns is called.
func SetPatience(d time.Duration) (reset func()) {
	was := patience
	patience = d
	return func() { patience = was }
}
