package layer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// program is what is known here of a program of the application, once it is made: one of these.
type program struct {
	launches *launches // that are to be told
	compiled *compiled // a unit that may be linked
	answers  answers   // that are read when they are asked for
}

// programs are known by the numbers that the application's side is told.
type programs struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]program
}

// maxPrograms bounds how many are kept: an application that never gives a program up must
// not fill its memory with what we note of it.
const maxPrograms = 8192

// find returns the program of a number; without anything where there is none.
func (s *programs) find(number uint64) program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[number]
}

// full reports whether there is no room for more. Units that read files are passed through
// then, answers are read at once, and launches are not told.
func (s *programs) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= maxPrograms
}

// add adds a program, and returns its number.
func (s *programs) add(p program) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.all[s.last] = p
	return s.last
}

func (s *programs) remove(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, number)
}

// compiled is a unit that reads header files, as it was when it was compiled, or when its
// compilation was found to be known. Links mean that unit, whatever the files hold by then.
type compiled struct {
	deviceContext *deviceContext
	files         *engine.Snapshot
}

var errTooManyUnits = errors.New("too many compiled units that read header files")

// compiledUnits returns what units read on a device of the deviceContext.
func (p *deviceContext) compiledUnits(units []*compiled) func(device int) []key.Unit {
	return func(device int) (all []key.Unit) {
		for _, c := range units {
			at := slices.Index(c.deviceContext.devices, p.devices[device])
			if at < 0 {
				return nil
			}
			all = append(all, c.files.Units(at)...)
		}
		return all
	}
}

// answers are where the answers of a program that was restored are, for each device of the
// request; nil: there are none. What a restore needs is machine code. What an application is
// answered when it asks for a program's binary is what the driver would have given it, PTX of
// twice the size; most never ask. So a large one is read when it is asked for.
type answers []struct {
	key  key.Key
	size int64 // of the answer that was not read; 0: there is none
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
