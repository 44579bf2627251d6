package layer

import (
	"time"

	"github.com/kernstash/kernstash/internal/inprocess"
)

// Ticket is a compile under way, of which requests and outcomes are no messages.
type Ticket struct{ *ticket }

// Ask begins a request. An error says why it is passed through, which is counted.
func (l *Layer) Ask(r *Request) (*Ticket, error) {
	t, err := l.begin(r)
	if err != nil {
		l.pass(r.API, err.Error())
		return nil, err
	}
	return &Ticket{t}, nil
}

// Done takes how the compile ended.
func (t *Ticket) Done(o *Outcome) { t.done(o) }

// AtOnce is how long Begin waits.
const AtOnce time.Duration = inprocess.AtOnce
