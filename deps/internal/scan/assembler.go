package scan

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// assembler is text that has a directive in it which reads a file, or the beginning of one,
// which other text may go on with; "": there is none.
type assembler string

// readers are the directives that read files, or make directives of arguments.
var readers = [...]string{"include", "incbin", "macro", "irp", "irpc", "altmacro"}

// maxReader is the length of the longest one with its dot.
const maxReader = len(".altmacro")

// literal looks through a string literal, which may be assembler text or a part of it.
func (a *assembler) literal(text []byte) {
	if *a != "" {
		return
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		if text = unescape(text); text == nil {
			*a = "with a character by its name"
			return
		}
	}
	a.dots(text)
}

// option looks at a word of the options, which may define a macro that becomes a literal.
func (a *assembler) option(word string) {
	_, value, ok := strings.Cut(word, "=")
	if !ok {
		value = word
	}
	a.dots([]byte(value))
}

// dots looks at each dot in text, but those behind a name that the assembler sees
// as it is written: not an operand (%0), nor an argument of an assembler's macro
// (\x).
func (a *assembler) dots(text []byte) {
	start := 0 // of the name, with its dots, that may stand before the next byte
	for i, c := range text {
		if c == '.' && (i == start || start > 0 && bytes.IndexByte([]byte("%\\@&"), text[start-1]) >= 0) {
			a.dot(text[i:], `\%&@{$`)
		}
		if c != '.' && !lexer.IsWord(c) {
			start = i + 1
		}
	}
}

// unescape returns what a literal stands for; nil if that is not known.
func unescape(text []byte) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			plain = append(plain, c)
			continue
		}
		i++
		base, start, end := 8, i, i
		switch c = text[i]; {
		case c >= '0' && c <= '7':
			for end < len(text) && end < start+3 && text[end] >= '0' && text[end] <= '7' {
				end++
			}
		case c == 'x':
			base, start, end = 16, i+1, i+1
			for end < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[end]) >= 0 {
				end++
			}
		case c == 'u', c == 'U', c == 'o', c == 'N':
			return nil
		case lexer.IsLetter(c):
			plain = append(plain, '\n') // white space, all of them
			continue
		default:
			plain = append(plain, c)
			continue
		}
		n, err := strconv.ParseUint(string(text[start:end]), base, 8)
		if err != nil {
			return nil
		}
		plain = append(plain, byte(n))
		i = end - 1
	}
	return plain
}

// dot looks at text that starts with a dot: whether it is a directive that
// reads a file, or the beginning of one, with which it ends, or which one of
// the characters in on may go on with. So "atom.inc.u32" is none, nor is
// "v.increment()".
func (a *assembler) dot(text []byte, on string) {
	n := 1
	for n < len(text) && n <= maxReader && (lexer.IsWord(text[n]) || text[n] == '.') {
		n++
	}
	if n > maxReader {
		return
	}
	word := strings.ToLower(string(text[1:n]))
	for n < len(text) && lexer.IsBlank(text[n]) {
		n++
	}
	goesOn := n == len(text) || strings.IndexByte(on, text[n]) >= 0
	for _, name := range readers {
		if word == name || goesOn && strings.HasPrefix(name, word) {
			*a = assembler(strings.TrimSpace(string(text[:min(len(text), 20)])))
		}
	}
}
