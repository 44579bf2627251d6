//go:build linux

package main

import (
	goruntime "runtime"
	"sync"
)

// heldReplies keep what replies to tickets point to until it is let go: at the ticket's
// next call.
type heldReplies struct {
	mu   sync.Mutex
	pins map[uint64]*goruntime.Pinner
}

// keep keeps what a ticket's reply points to.
func (h *heldReplies) keep(ticket uint64, pin *goruntime.Pinner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pins == nil {
		h.pins = make(map[uint64]*goruntime.Pinner)
	}
	h.pins[ticket] = pin
}

// letGo lets what a ticket's last reply pointed to go.
func (h *heldReplies) letGo(ticket uint64) {
	h.mu.Lock()
	pin := h.pins[ticket]
	delete(h.pins, ticket)
	h.mu.Unlock()
	if pin != nil {
		pin.Unpin()
	}
}
