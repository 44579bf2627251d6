package scan

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// assembler holds what text for an assembler may be put together of: its
// directives .include and .incbin read files.
type assembler struct {
	whole  string    // text that has such a directive in it, or may have
	starts [8]string // text that ends behind so many letters of one, the dot not counted
	goesOn [6][8]bool
}

// readers are the directives that read files, and those that make directives of
// others' arguments. assembler.goesOn says for each, and for each number of its letters,
// whether there is text that goes on behind these letters: by two letters or more, or to
// the end. Nobody spells them in single letters unawares, and there are too many of these.
var readers = [6]string{"include", "incbin", "macro", "irp", "irpc", "altmacro"}

// maxReader is the length of the longest one.
const maxReader = len("altmacro")

// beginning returns text that has a directive in it, or the beginning of one;
// "" for none.
func (a *assembler) beginning() string {
	for _, text := range a.starts {
		if a.whole == "" {
			a.whole = text
		}
	}
	return a.whole
}

// directive returns text that has a directive in it, or the beginning of one
// that other text goes on with; "" for none.
func (a *assembler) directive() string {
	if a.whole != "" {
		return a.whole
	}
	for n, text := range a.starts {
		for i := range readers {
			if text != "" && a.goesOn[i][n] {
				return text
			}
		}
	}
	return ""
}

// identifier notes a name of code, which a macro may make a string of.
func (a *assembler) identifier(name []byte) {
	if len(name) < 3 || len(name) > maxReader {
		return
	}
	for _, c := range name {
		if !isReaderLetter(c) {
			return
		}
	}
	a.continuation(strings.ToLower(string(name)), false)
}

// readerLetters are those of readers.
const readerLetters = "includebmaroptINCLUDEBMAROPT"

func isReaderLetter(c byte) bool { return strings.IndexByte(readerLetters, c) >= 0 }

// continuation notes text that may go on with a directive; open says that more
// than the directive may follow in it.
func (a *assembler) continuation(text string, open bool) {
	for i, name := range readers {
		for n := range name {
			rest := name[n:]
			if text == rest || open && strings.HasPrefix(text, rest) || len(text) > 1 && strings.HasPrefix(rest, text) {
				a.goesOn[i][n] = true
			}
		}
	}
}

// literal looks through a string literal, which may be assembler text, or a
// part of it that is joined to others.
func (a *assembler) literal(text []byte) {
	if a.whole != "" || len(text) == 0 {
		return
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		if text = unescape(text); text == nil {
			a.whole = "with a character by its name"
			return
		}
	}
	if len(text) > 0 && lexer.IsLetter(text[0]) {
		a.continuation(strings.ToLower(string(text[:min(len(text), 16)])), true)
	}
	a.dots(text)
}

// option looks at a word of the options, which may define a macro that becomes a
// literal.
func (a *assembler) option(word string) {
	_, value, ok := strings.Cut(word, "=")
	if !ok {
		value = word
	}
	a.continuation(strings.ToLower(value[:min(len(value), 16)]), true)
	a.dots([]byte(value))
}

// dots looks at each dot in text, but those behind a name that the assembler sees
// as it is written: not an operand (%0), nor an argument of an assembler's macro
// (\x).
func (a *assembler) dots(text []byte) {
	start := 0 // of the name, with its dots, that may stand before the next byte
	for i, c := range text {
		if c == '.' && (i == start || start > 0 && bytes.IndexByte([]byte("%\\@&"), text[start-1]) >= 0) {
			a.dot(text[i:], `\%&@{$`, false)
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
// "v.increment()". code says that it is not in a literal.
func (a *assembler) dot(text []byte, on string, code bool) {
	n := 1
	for n < len(text) && n <= len(" altmacro") && (lexer.IsWord(text[n]) || text[n] == '.') {
		n++
	}
	if n > len(" altmacro") {
		return
	}
	word := strings.ToLower(string(text[1:n]))
	for n < len(text) && lexer.IsBlank(text[n]) {
		n++
	}
	ends := n == len(text)
	changes := !ends && strings.IndexByte(on, text[n]) >= 0
	shown := strings.TrimSpace(string(text[:min(len(text), 20)]))
	for _, name := range readers {
		switch {
		case word == name, changes && !code && strings.HasPrefix(name, word):
			a.whole = shown
		case (ends || changes) && strings.HasPrefix(name, word):
			a.starts[len(word)] = shown
		}
	}
}
