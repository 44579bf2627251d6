package layer

import (
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
)

// Ask begins a request that is no message.
func (l *Layer) Ask(r *Request) (*inprocess.Ticket, error) { return l.begin(r) }

// Built returns what C says of a compile that made an output.
func Built(o *rtc.Output, took time.Duration) front.Message {
	return append(served(o), front.Field{Tag: front.Ended, Detail: uint32(front.Built), Number: uint64(took)})
}
