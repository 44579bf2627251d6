package lexer

// Set is a set of identifiers that are looked for in text. A text has many identifiers, of which
// few have the length and the ends of one of the set.
type Set struct {
	names   map[string]bool
	ends    Pairs // their first and last characters
	lengths [128]bool
}

// NewSet returns the set of the names for which names is true.
func NewSet(names map[string]bool) *Set {
	s := &Set{names: names}
	for name := range names {
		if name != "" {
			s.ends.Add(name[0], name[len(name)-1])
			s.lengths[min(len(name), len(s.lengths)-1)] = true
		}
	}
	return s
}

// In reports whether one of the set stands in text, in a comment or a literal, too.
func (s *Set) In(text []byte) bool {
	for name := range Identifiers(text) {
		if s.lengths[min(len(name), len(s.lengths)-1)] && s.ends.Has(name[0], name[len(name)-1]) && s.names[string(name)] {
			return true
		}
	}
	return false
}
