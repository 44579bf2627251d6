package layer

import "github.com/kernstash/kernstash/internal/inprocess"

// Ask begins a request that is no message. An error says why it is passed through, which is counted.
func (l *Layer) Ask(r *Request) (*inprocess.Ticket, error) { return l.begin(r) }
