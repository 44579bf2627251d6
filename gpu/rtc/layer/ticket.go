package layer

import (
	"context"
	"fmt"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/reason"
)

// Ticket is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	l        *Layer
	pool     *pool
	request  kernstash.Request
	core     *guest.Rendezvous[struct{}, compiled] // a step is a compile
	searched func()                                // see Options.Missed; may be nil
	served   *rtc.Output                           // what the core found, or another thread had compiled; to be read when it is through
}

// compiled is what came of a compile.
type compiled struct {
	output *rtc.Output // nil: nothing that could be stored
	took   time.Duration
}

// ask has the core make the program.
func (t *Ticket) ask() {
	t.core.Ask(func(ctx context.Context) error {
		p, err := guest.Program(guest.With(ctx, t), t.pool.core, t.request, t.core)
		if err != nil {
			return err
		}
		n, err := p.Native(0)
		p.Release()
		if err != nil || t.core.Stepped() {
			return err
		}
		output, _ := n.Output.(*rtc.Output)
		if output == nil {
			return fmt.Errorf("%w: another thread compiled it for itself", kernstash.ErrNotCacheable)
		}
		t.served = output
		return nil
	})
}

// Wait waits for d at most, and returns what there is to say; ok is false where there is
// nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	switch _, said := t.core.Wait(d); said {
	case guest.Wanted:
		t.over()
		return Reply{Action: front.Build}, true
	case guest.Through:
		t.End()
		if t.core.Err() == nil && t.served != nil {
			return Reply{Action: front.Hit, Output: t.served}, true
		}
		return Reply{Action: front.Pass, Reason: t.pool.door.PassFailed(t.core.Err())}, true
	case guest.Late:
		t.End()
		return pass(t.pool.door, reason.PassedBusy, "waited too long"), true
	case guest.Over:
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, true
	default:
		return Reply{}, false
	}
}

// Done takes how the compile ended, and ends the ticket. After End it does nothing.
func (t *Ticket) Done(o *Outcome) {
	c := compiled{took: o.Took}
	var err error
	switch o.Result {
	case front.Built:
		c.output = o.Output
	case front.Failed:
		err = &kernstash.BuildError{Code: o.Code, Log: o.Log}
	default:
		err = fmt.Errorf("%w: code %d", kernstash.ErrAbandoned, o.Code)
	}
	heard := t.core.Answer(c, err, true)
	t.End()
	if heard && o.Result == front.Built {
		t.core.Linger(o.Took)
	}
}

// End ends the ticket. Where Done did not come before, nothing is known of the compile,
// and those who wait for it go on.
func (t *Ticket) End() {
	t.over()
	t.core.End()
}

// over says that nothing is searched for any more.
func (t *Ticket) over() {
	if t.searched != nil {
		t.searched()
	}
}
