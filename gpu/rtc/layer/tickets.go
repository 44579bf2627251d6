package layer

import (
	"maps"
	"slices"
	"sync"
)

// tickets are those that are open.
type tickets struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*Ticket
}

// maxTickets bounds what a process can have open.
const maxTickets = 4096

func (s *tickets) add(t *Ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxTickets {
		return false
	}
	if s.open == nil {
		s.open = make(map[uint64]*Ticket)
	}
	s.last++
	t.id = s.last
	s.open[t.id] = t
	return true
}

func (s *tickets) remove(t *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t.id)
}

func (s *tickets) find(id uint64) *Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

func (s *tickets) all() []*Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}
