package layer

import (
	"context"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What a restore needs is machine code. What an application is answered when it asks
// for a program's binary is what the driver would have given it, PTX of twice the
// size; most never ask. So that is left unread until somebody does.

// answers are where those of a program that was restored are, for each device of the
// request.
type answers []struct {
	key  key.Key
	rest *store.Artifact // no more than what was left unread; nil: nothing
}

// keepAnswers notes where the answers of what was restored are, and returns the number
// of the program; 0: there are none. The caller holds the lock.
func (t *Ticket) keepAnswers() uint64 {
	all, some := make(answers, len(t.ordinals)), false
	for _, u := range t.units {
		if !u.good || u.step.artifact == nil || len(u.step.artifact.Rest) == 0 {
			continue
		}
		some = true
		t.each(u.step, func(i int) {
			all[i].key, all[i].rest = u.step.job.Key, &store.Artifact{Rest: u.step.artifact.Rest}
		})
	}
	if !some {
		return 0
	}
	return t.l.answers.add(t.l.number(), &all)
}

// Answer returns the binary that CL_PROGRAM_BINARIES answers for the device at a place
// of the request, of a program whose artifact there was given with its answer unread;
// program is what Done called it. Nil: it is gone from the cache, and the driver has to
// build the program to be asked.
func (l *Layer) Answer(program uint64, device int) (code []byte) {
	a := l.answers.find(program)
	if a == nil || device < 0 || device >= len(*a) || (*a)[device].rest == nil {
		return nil
	}
	rest, err := l.door.Cache.Engine().Rest(context.Background(), (*a)[device].key, (*a)[device].rest)
	for _, b := range rest {
		if err == nil && b.Form == store.FormIntermediate {
			code = b.Data
		}
	}
	return code
}
