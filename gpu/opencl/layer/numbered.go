package layer

import "sync"

// numbered are things that an application's programs are known by here, by the numbers of
// the programs.
type numbered[T any] struct {
	mu  sync.Mutex
	all map[uint64]*T
}

// find returns the thing of a number; nil: there is none.
func (s *numbered[T]) find(id uint64) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// full says whether there is no room for more: an application that never gives a
// program up must not fill its memory with what we note of it. Units that read files are
// passed through then, and answers are read at once.
func (s *numbered[T]) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) >= maxPrograms
}

func (s *numbered[T]) add(id uint64, it *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]*T)
	}
	s.all[id] = it
}

func (s *numbered[T]) remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}
