package layer

import (
	"context"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/store"
)

// What a restore needs is machine code. What an application is answered when it asks
// for a program's binary is what the driver would have given it, PTX of twice the
// size; most never ask. So that is left unread until somebody does.

// answers are those of programs that were restored, by the programs' numbers.
type answers struct {
	mu  sync.Mutex
	all map[uint64]*answer
}

type answer struct {
	pool  *pool
	found []kernstash.Found // of each device of the request
}

// full says whether there is no room for more: an application that never gives a
// program up must not fill its memory with what we note of it. Answers are read at
// once then.
func (s *answers) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= maxPrograms
}

func (s *answers) add(id uint64, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]*answer)
	}
	s.all[id] = a
}

func (s *answers) find(id uint64) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

func (s *answers) remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// keepAnswers notes where the answers of what was found are, and returns the number
// of the program; 0: there are none. The caller holds the lock.
func (t *Ticket) keepAnswers(found map[int]kernstash.Found) uint64 {
	a := &answer{t.pool, make([]kernstash.Found, len(t.ordinals))}
	some := false
	for _, f := range found {
		some = some || served(f.Artifact, 0).Unread > 0
		rest := *f.Artifact
		rest.Binaries, rest.Kernels, rest.Log = nil, nil, "" // they are read anew
		f.Artifact = &rest
		for i, ordinal := range t.ordinals {
			for _, d := range f.Job.Devices {
				if d == ordinal {
					a.found[i] = f
				}
			}
		}
	}
	if !some {
		return 0
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
	_ = l.door.Guard(func() error {
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
		return nil
	})
	return code
}
