package layer

import "time"

// SetPatience sets how long a request waits, until what it returns is called.
func SetPatience(d time.Duration) (reset func()) {
	was := patience
	patience = d
	return func() { patience = was }
}

// Settle waits until nothing goes on for tickets that have ended.
func (l *Layer) Settle() { l.asking.Wait() }
