package layer

import "time"

// Settle waits until nothing goes on for tickets that have ended.
func (l *Layer) Settle() { l.settle() }

// IsOpen reports whether a ticket has not ended.
func (*Layer) IsOpen(t *Ticket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over
}

// SetPatience sets how long a request waits, until what it returns is called.
func SetPatience(d time.Duration) (reset func()) {
	was := patience
	patience = d
	return func() { patience = was }
}
