package layer

import (
	"sync"

	"github.com/kernstash/kernstash/internal/guest"
)

// tickets are those that are open.
type tickets struct {
	guest.Tickets[Ticket]
	mu      sync.Mutex
	threads map[int]int // open ones of a thread
}

func (s *tickets) add(t *Ticket) bool {
	if !s.Add(t, &t.id) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads == nil {
		s.threads = make(map[int]int)
	}
	if t.thread != 0 {
		s.threads[t.thread]++
	}
	return true
}

func (s *tickets) remove(t *Ticket) {
	if !s.Remove(t.id) || t.thread == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[t.thread]--; s.threads[t.thread] == 0 {
		delete(s.threads, t.thread)
	}
}

// busy says whether a thread has a ticket. It would wait for itself if it asked
// for the same program, and two such threads for each other.
func (s *tickets) busy(thread int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return thread != 0 && s.threads[thread] > 0
}
