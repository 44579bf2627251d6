package layer

import (
	"context"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// What a restore needs is machine code. What an application is answered when it asks
// for a program's binary is what the driver would have given it, PTX of twice the
// size; most never ask. So a large one is not kept: it is read again for who asks.

// leastLater is the size from which on an answer is left out.
const leastLater = 64 << 10

// answers are where those of a program that was restored are, for each device of the
// request; nil: there are none.
type answers []struct {
	key  key.Key
	size int64 // of the answer that was left out; 0: none was
}

// answersOf returns where the answers of what was restored for a number of devices are.
func answersOf(units []*unit, devices int) (all answers) {
	for _, u := range units {
		if !u.good || u.unread == 0 {
			continue
		}
		if all == nil {
			all = make(answers, devices)
		}
		for _, i := range u.places {
			all[i].key, all[i].size = u.job.Key, u.unread
		}
	}
	return all
}

// read returns the answer for the device at a place of the request; nil: it is gone.
func (a answers) read(e *engine.Engine, device int) []byte {
	if device < 0 || device >= len(a) || a[device].size == 0 {
		return nil
	}
	if artifact := e.Artifact(context.Background(), a[device].key); artifact != nil {
		answer := served(artifact, 0).Answer
		if int64(len(answer)) == a[device].size {
			return answer
		}
	}
	return nil
}
