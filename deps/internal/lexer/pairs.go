package lexer

// Pairs holds which two characters of ASCII follow one another.
//
// A table is cleared before it is filled: to write to a page that was only read yet costs a
// second fault, and the other processors' word that they know.
type Pairs [128][2]uint64

func (p *Pairs) Has(a, b byte) bool { return p[a&127][b&127/64]&(1<<(b%64)) != 0 }

func (p *Pairs) Add(a, b byte) { p[a&127][b&127/64] |= 1 << (b % 64) }
