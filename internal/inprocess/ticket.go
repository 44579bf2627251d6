package inprocess

import (
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// AtOnce is how long an answer is waited for before there is none yet: as long as it takes to
// find an artifact where nothing is in the way.
const AtOnce = 5 * time.Millisecond

// Ticket is a Drive whose steps front ends in C are told of.
type Ticket struct {
	*Drive

	// Serve makes a message of an artifact. An error says why it cannot be restored.
	Serve func(*store.Artifact) (front.Message, error)
}

// Wait waits for d at most, and returns what there is to say; false: nothing yet.
func (t Ticket) Wait(d time.Duration) (front.Step, bool) {
	for {
		step, said := t.Drive.Wait(d)
		switch {
		case said == Wanted && step.Kind == engine.Hit:
			m, err := t.Serve(step.Artifact)
			if err != nil {
				t.Rejected(err)
				continue
			}
			return front.Step{Action: front.Hit, Message: m}, true
		case said == Wanted:
			return front.Step{Action: front.Build}, true
		case said == Failed:
			t.door.PassFailed(t.Err())
		case said == Late:
			t.door.Pass(reason.PassedBusy, "waited too long")
		}
		return front.Step{Action: front.Pass}, said != Nothing
	}
}
