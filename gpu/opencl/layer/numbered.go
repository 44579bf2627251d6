package layer

import "sync"

// numbered are things that an application's programs are known by here, by the numbers of
// the programs.
type numbered[T any] struct {
	mu  sync.Mutex
	all map[uint64]*T
}

// maxPrograms bounds how many are kept: an application that never gives a program up must
// not fill its memory with what we note of it.
const maxPrograms = 4096

// find returns the thing of a number; nil: there is none.
func (s *numbered[T]) find(id uint64) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// full reports whether there is no room for more. Units that read files are passed through
// then, answers are read at once, and launches are not told.
func (s *numbered[T]) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= maxPrograms
}

// add adds a thing under a number, and returns that.
func (s *numbered[T]) add(id uint64, it *T) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]*T)
	}
	s.all[id] = it
	return id
}

func (s *numbered[T]) remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}
