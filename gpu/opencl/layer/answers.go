package layer

import (
	"context"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What a restore needs is machine code. What an application is answered when it asks
// for a program's binary is what the driver would have given it, PTX of twice the
// size; most never ask. So that is left unread until somebody does.

// answers are where those of a program that was restored are, for each device of the
// request; nil: there are none.
type answers []struct {
	key  key.Key
	rest *store.Artifact // no more than what was left unread; nil: nothing
}

// answersOf returns where the answers of what was restored for a number of devices are.
func answersOf(units []*unit, devices int) (all answers) {
	for _, u := range units {
		if !u.good || u.artifact == nil || len(u.artifact.Rest) == 0 {
			continue
		}
		if all == nil {
			all = make(answers, devices)
		}
		for _, i := range u.places {
			all[i].key, all[i].rest = u.job.Key, &store.Artifact{Rest: u.artifact.Rest}
		}
	}
	return all
}

// read returns the answer for the device at a place of the request; nil: it is gone.
func (a answers) read(e *engine.Engine, device int) (code []byte) {
	if device < 0 || device >= len(a) || a[device].rest == nil {
		return nil
	}
	rest, err := e.Rest(context.Background(), a[device].key, a[device].rest)
	for _, b := range rest {
		if err == nil && b.Form == store.FormIntermediate {
			code = b.Data
		}
	}
	return code
}
