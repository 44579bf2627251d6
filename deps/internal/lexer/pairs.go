package lexer

// Pairs holds which two characters of ASCII follow one another.
type Pairs [128][2]uint64

// Has reports whether b follows a.
func (p *Pairs) Has(a, b byte) bool { return p[a&127][b&127/64]&(1<<(b%64)) != 0 }

// Add notes that b follows a.
func (p *Pairs) Add(a, b byte) { p[a&127][b&127/64] |= 1 << (b % 64) }
