package scan

import (
	"bytes"
	"encoding/binary"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// Most of a large program is code in which no name, number or operator says anything of
// files: they are looked at since names may be pasted together, or make assembler text.
// Where nothing is pasted or assembled, what lies between directives, comments and literals
// is passed over. It changes what is found of a unit in nothing but the pieces of names.

// tellingText is of texts of which one is in any code whose names have to be looked at.
var tellingText = []string{
	"##", "%:", "??=", "asm", "import", "_Pragma", "__DATE_", "__TIME", "__has_",
	"_FILE", "source_location", "PRETTY_FUNC", "FUNCSIG",
}

// isSkimmed says whether names in a text tell nothing, provided that it is the whole of a
// translation unit.
func isSkimmed(text []byte) bool {
	for _, t := range tellingText {
		if t[0] == '#' {
			if bytes.Contains(text, []byte(t)) {
				return false
			}
		} else if lexer.Contains(text, t) {
			return false
		}
	}
	return true
}

// skim goes on, from the beginning of a line, to the first word or character that tells
// something: of a directive, a comment or a literal, or not of ASCII.
func (s *scanner) skim() {
	begin, at := s.i, s.i
	for {
		at += untold(s.text[at:])
		if at == len(s.text) || s.text[at] != '/' || s.text[at+1] == '/' || s.text[at+1] == '*' { // the text ends with a line end
			break
		}
		at++
	}
	if at < len(s.text) && s.text[at] != '#' && s.text[at] != '/' {
		// A quote may be part of a number, or have a prefix.
		for at > begin && (lexer.IsWord(s.text[at-1]) || s.text[at-1] == '.') {
			at--
		}
	}
	s.i = at
	for at > begin && lexer.IsBlank(s.text[at-1]) {
		at--
	}
	s.started = at > begin && s.text[at-1] != '\n'
}

// untold returns the length of the text before the first '#', quote or '/', or byte that is
// not of ASCII.
func untold(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		a := x&(0xfe*ones) ^ '"'*ones  // '"' and '#' are zero
		b := x&(0xf7*ones) ^ '\''*ones // '\'' and '/'
		if ((a-ones)&^a|(b-ones)&^b|x)&highs != 0 {
			break
		}
	}
	for ; n < len(text); n++ {
		switch c := text[n]; {
		case c == '#', c == '"', c == '\'', c == '/', c >= 0x80:
			return n
		}
	}
	return n
}
