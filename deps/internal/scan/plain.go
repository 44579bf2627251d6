package scan

import (
	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// plain passes over what means nothing: most of a text. It is scan without its calls.
func (s *scanner) plain() {
	text, i, started := s.text, s.i, s.started
	names := len(s.watch) == 0
loop:
	for i < len(text) {
		switch lexer.Classes[text[i]] {
		case lexer.Blank:
			i++
		case lexer.Inert:
			started = true
			i++
		case lexer.Letter:
			end, ascii := i+1, text[i]
			for end < len(text) && lexer.IsWord(text[end]) {
				ascii |= text[end]
				end++
			}
			if !names || ascii >= 0x80 || mayMatter(text[i:end], s.traces) {
				break loop
			}
			started = true
			i = end
		default:
			break loop
		}
	}
	s.i, s.started = i, started
}
