package layer

import (
	"context"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/store"
)

// What a restore needs is machine code. What an application is answered when it asks
// for a program's binary is what the driver would have given it, PTX of twice the
// size; most never ask. So that is left unread until somebody does.

// answer is where the answers of a program that was restored are.
type answer struct {
	pool  *pool
	found []kernstash.Found // of each device of the request
}

// keepAnswers notes where the answers of what was found are, and returns the number
// of the program; 0: there are none. The caller holds the lock.
func (t *Ticket) keepAnswers(found map[int]kernstash.Found) uint64 {
	some := false
	for _, f := range found {
		some = some || len(f.Artifact.Rest) > 0
	}
	if !some {
		return 0
	}
	a := &answer{t.pool, make([]kernstash.Found, len(t.ordinals))}
	for _, f := range found {
		// No more than says where they are: the recipe has the program's source.
		f.Artifact, f.Job.Recipe = &store.Artifact{Rest: f.Artifact.Rest}, nil
		for i, ordinal := range t.ordinals {
			if slices.Contains(f.Job.Devices, ordinal) {
				a.found[i] = f
			}
		}
	}
	id := t.l.programs.number()
	t.l.answers.add(id, a)
	return id
}

// Answer returns the binary that CL_PROGRAM_BINARIES answers for the device at a place
// of the request, of a program whose artifact there was given with its answer unread;
// program is what Done called it. Nil: it is gone from the cache, and the driver has to
// build the program to be asked.
func (l *Layer) Answer(program uint64, device int) (code []byte) {
	a := l.answers.find(program)
	if a == nil || device < 0 || device >= len(a.found) || a.found[device].Artifact == nil {
		return nil
	}
	rest, err := a.pool.core.Rest(context.Background(), a.found[device])
	for _, b := range rest {
		if err == nil && b.Form == store.FormIntermediate {
			code = b.Data
		}
	}
	return code
}
