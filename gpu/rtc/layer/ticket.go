package layer

import (
	"errors"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Ticket is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	*inprocess.Drive
	pool *pool
	name string // of the program
}

// Wait waits for d at most, and returns what there is to say; ok is false where there is
// nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	for {
		step, said := t.Drive.Wait(d)
		switch {
		case said == inprocess.Wanted && step.Kind == engine.Hit:
			o, err := rtc.FromArtifact(step.Artifact, t.name)
			if err != nil {
				t.Rejected(err)
				continue
			}
			t.Restored()
			return Reply{Action: front.Hit, Output: o}, true
		case said == inprocess.Wanted:
			return Reply{Action: front.Build}, true
		case said == inprocess.Failed:
			return Reply{Action: front.Pass, Reason: t.pool.door.PassFailed(t.Err())}, true
		case said == inprocess.Late:
			return pass(t.pool.door, reason.PassedBusy, "waited too long"), true
		case said == inprocess.Over:
			return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, true
		}
		return Reply{}, false
	}
}

// Done takes how the compile ended, and ends the ticket. After End it does nothing.
func (t *Ticket) Done(o *Outcome) {
	switch o.Result {
	case front.Built:
		t.Built(o.Took, func(r *key.Recipe) engine.Outcome { return t.pool.artifact(r, o) })
	case front.Failed:
		t.Refused()
	}
	t.End()
}

// artifact returns what is to be stored of a compile.
func (p *pool) artifact(r *key.Recipe, o *Outcome) engine.Outcome {
	if o.Output == nil || p.library.Confirm() != nil {
		return engine.Outcome{}
	}
	a, err := o.Output.Artifact(r)
	var unfit *kernstash.UnfitError
	switch {
	case errors.As(err, &unfit):
		return engine.Outcome{Unfit: unfit.Why}
	case err != nil:
		return engine.Outcome{Unfit: err.Error()}
	}
	a.Cost = o.Took
	return engine.Outcome{Artifact: a}
}
