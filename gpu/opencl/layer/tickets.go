package layer

import (
	"maps"
	"slices"
	"sync"
)

// tickets are those that are open.
type tickets struct {
	mu     sync.Mutex
	closed bool
	open   map[*Ticket]bool
}

// add adds a ticket; false: none is taken any more.
func (s *tickets) add(t *Ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = make(map[*Ticket]bool)
	}
	s.open[t] = true
	return true
}

func (s *tickets) remove(t *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
}

func (s *tickets) all() []*Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// close takes no more tickets, and ends those that are open.
func (s *tickets) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, t := range s.all() {
		t.End()
	}
}

// busy reports whether a thread has a ticket. It would wait for itself if it asked
// for the same program, and two such threads for each other.
func (s *tickets) busy(thread int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.open {
		if thread != 0 && t.thread == thread {
			return true
		}
	}
	return false
}
