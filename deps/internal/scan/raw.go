package scan

import (
	"bytes"
	"slices"
)

// raw passes over a raw string, from its quote on; false: it is none here, or it
// stands in a directive, where compilers differ. Once one has no certain end, which the
// caller doubts, no other is looked for: each would be looked for in all of the text.
func (s *scanner) raw() bool {
	if !s.traces.Raw || s.odd || s.defining || s.testing || s.message || s.decides {
		return false
	}
	rest := s.text[s.i+1:]
	open := bytes.IndexByte(rest[:min(len(rest), 17)], '(')
	if open < 0 || bytes.ContainsAny(rest[:open], " )\\\t\v\n\"") {
		return false
	}
	end := append(append([]byte{')'}, rest[:open]...), '"')
	n := bytes.Index(rest[open+1:], end)
	if n < 0 {
		s.odd = true
		return false
	}
	last := s.i + 1 + open + 1 + n + len(end)
	if next, _ := slices.BinarySearch(s.joined, s.i); next < len(s.joined) && s.joined[next] <= last {
		s.odd = true // its lines are not joined: it may end elsewhere
		return false
	}
	s.traces.literal(rest[open+1 : open+1+n])
	s.i += 1 + open + 1 + n + len(end)
	return true
}
