package layer

import "sync"

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
