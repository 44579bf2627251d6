package front

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/reason"
)

// Server answers C for an adapter. It is safe for concurrent use.
type Server struct {
	adapter Adapter

	mu   sync.Mutex
	last uint64
	open map[uint64]*ticket
}

// NewServer returns the server of an adapter.
func NewServer(a Adapter) *Server { return &Server{adapter: a, open: make(map[uint64]*ticket)} }

// maxTickets bounds what a process can have open.
const maxTickets = 4096

// ticket is a request under way, or what was answered to it.
type ticket struct {
	session Session        // nil: what was answered is all
	pins    runtime.Pinner // of what C reads

	next atomic.Pointer[Step] // what Wait said to a waiting thread

	mu    sync.Mutex
	ended bool
}

// Reply is a step as C gets it.
type Reply struct {
	Action         Action
	Ticket         uint64
	Message        Raw
	Program, Saved uint64
	Pending        bool // there is none yet: Wait, with the ticket, asks for it
}

// guard counts a panic in f, after which there is no step. No panic leaves it, not even one
// of counting.
func (s *Server) guard(f func()) {
	defer func() { _ = recover() }()
	if err := s.adapter.Guard(func() error { f(); return nil }); err != nil {
		s.adapter.Pass(reason.PassedPanic, "internal error")
	}
}

// Begin begins a request whose message is C's. wake is called once where the reply is
// pending, when there is one.
func (s *Server) Begin(what uint32, thread int, m Raw, wake func()) Reply {
	t := new(ticket)
	id := s.add(t)
	if id == 0 {
		s.guard(func() { s.adapter.Pass(reason.PassedBusy, "too many programs at once") })
		return Reply{}
	}
	return s.step(id, t, wake, func() (step Step, ok bool) {
		message, err := m.view()
		if err != nil {
			s.adapter.Pass(reason.PassedOther, err.Error())
			return Step{}, true
		}
		t.session, step, ok = s.adapter.Begin(&Request{What: what, Thread: thread, Message: message})
		return step, ok
	})
}

// Next takes how a ticket's last step ended.
func (s *Server) Next(id uint64, m Raw, wake func()) Reply {
	t := s.find(id)
	if t == nil {
		return Reply{}
	}
	return s.step(id, t, wake, func() (Step, bool) {
		if t.session == nil {
			return Step{Action: Done}, true
		}
		message, err := m.view()
		if err != nil {
			message = nil // which ends the ticket
		}
		t.unpin(false)
		return t.session.Next(message)
	})
}

// Wait returns what there is to say for a reply that was pending.
func (s *Server) Wait(id uint64) Reply {
	t := s.find(id)
	if t == nil {
		return Reply{} // ended by another thread
	}
	step := t.next.Swap(nil)
	if step == nil {
		return Reply{Ticket: id, Pending: true}
	}
	return s.step(id, t, nil, func() (Step, bool) { return *step, true })
}

// step returns the step that f returns, as C gets it, or sees that wake is called when there
// is one. The last one ends the ticket.
func (s *Server) step(id uint64, t *ticket, wake func(), f func() (Step, bool)) (r Reply) {
	s.guard(func() {
		step, ok := f()
		switch {
		case !ok:
			go s.await(t, wake)
			r = Reply{Ticket: id, Pending: true}
		case step.Action == Hit || step.Action == Build:
			r = t.reply(id, step)
		default:
			r = Reply{Action: step.Action, Program: step.Program, Saved: uint64(max(step.Saved, 0))}
		}
	})
	if r.Ticket == 0 {
		s.End(id)
	}
	return r
}

// reply pins what a step points to.
func (t *ticket) reply(id uint64, step Step) Reply {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return Reply{}
	}
	return Reply{Action: step.Action, Ticket: id, Message: step.Message.forC(&t.pins)}
}

func (s *Server) add(t *ticket) (id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxTickets {
		return 0
	}
	s.last++
	s.open[s.last] = t
	return s.last
}

func (s *Server) find(id uint64) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

func (s *Server) await(t *ticket, wake func()) {
	var step Step
	s.guard(func() {
		for ok := false; !ok; {
			step, ok = t.session.Wait(time.Hour)
		}
	})
	t.next.Store(&step)
	wake()
}

// End ends a ticket; one that has ended it leaves.
func (s *Server) End(id uint64) {
	s.mu.Lock()
	t := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if t == nil {
		return
	}
	s.guard(func() { t.unpin(true) })
	s.guard(func() {
		if t.session != nil {
			t.session.End()
		}
	})
}

// unpin lets go what the last step pointed to.
func (t *ticket) unpin(end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins.Unpin()
	t.ended = t.ended || end
}

// Tell takes an event whose message is C's.
func (s *Server) Tell(what uint32, m Raw) {
	s.guard(func() {
		if message, err := m.view(); err == nil {
			s.adapter.Tell(what, message)
		}
	})
}
