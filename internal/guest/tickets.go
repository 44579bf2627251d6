package guest

import (
	"maps"
	"slices"
	"sync"
)

// maxTickets bounds what a process can have open.
const maxTickets = 4096

// Tickets are the requests of a host that are under way, by numbers of which none is
// used twice. The zero value has none.
type Tickets[T any] struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*T
}

// Add takes a ticket in and writes its number to id. False: too many are open.
func (s *Tickets[T]) Add(t *T, id *uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxTickets {
		return false
	}
	if s.open == nil {
		s.open = make(map[uint64]*T)
	}
	s.last++
	*id = s.last
	s.open[s.last] = t
	return true
}

// Remove takes the ticket of a number out, and says whether it was in.
func (s *Tickets[T]) Remove(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, in := s.open[id]
	delete(s.open, id)
	return in
}

// Find returns the ticket of a number, nil where it is not in.
func (s *Tickets[T]) Find(id uint64) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// All returns those that are in, in no order.
func (s *Tickets[T]) All() []*T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}
