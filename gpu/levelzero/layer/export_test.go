package layer

import (
	"time"

	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
)

// Ticket is a module under way, of which requests and outcomes are no messages.
type Ticket struct{ *ticket }

// Ask begins a request. An error says why it is passed through, which is counted.
func (l *Layer) Ask(r *Request) (*Ticket, error) {
	t, err := l.begin(r)
	if err != nil {
		l.pass(whyPassed(err), err.Error())
		return nil, err
	}
	return &Ticket{t}, nil
}

// Next takes how it ended.
func (t *Ticket) Next(o *Outcome) (front.Step, bool) { return t.next(o) }

// AtOnce is how long Begin waits.
const AtOnce time.Duration = inprocess.AtOnce
