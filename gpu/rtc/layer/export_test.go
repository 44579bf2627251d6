package layer

// Settle waits until nothing goes on for tickets that have ended.
func (l *Layer) Settle() { l.guest.Settle() }
