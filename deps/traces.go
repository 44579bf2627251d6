package deps

import (
	"bytes"
	"strings"

	"github.com/kernstash/kernstash/stats"
)

// forbidden are the names that a source must not make by pasting tokens.
var forbidden = []string{
	"__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include", "__has_include_next", "__has_include__",
	"__has_include_next__", "__has_embed",
}

// assemblers introduce inline assembly.
var assemblers = []string{"asm", "__asm", "__asm__"}

var (
	allForbidden = strings.Join(forbidden, " ")
	allNames     = allForbidden + " " + strings.Join(assemblers, " ")
)

// traces are what a translation unit, its headers included, adds up to: what
// one file begins another may complete.
type traces struct {
	pastes     bool            // tokens, with ##
	pieces     map[string]bool // identifiers that are in forbidden names or in assemblers
	directives string          // what may be part of .include or .incbin, the first of it
}

func (t *traces) identifier(name string) {
	if !strings.Contains(allNames, name) {
		return
	}
	if t.pieces == nil {
		t.pieces = make(map[string]bool)
	}
	t.pieces[name] = true
}

// reason says what the traces amount to.
func (t *traces) reason() Reason {
	if t.directives != "" && t.makes(assemblers) != "" {
		return Reason{stats.NotCacheableFile, "assembler text " + t.directives}
	}
	if !t.pastes {
		return Reason{}
	}
	for piece := range t.pieces {
		if telling(piece) {
			return Reason{stats.NotCacheableHeaders, piece + " beside ##"}
		}
	}
	if name := t.makes(forbidden); name != "" {
		return Reason{stats.NotCacheableHeaders, "pieces of " + name + " beside ##"}
	}
	return Reason{}
}

// telling says whether a piece is good for little but a forbidden name, so that
// it counts even if the other pieces come from elsewhere, as from options.
func telling(piece string) bool {
	for _, name := range forbidden {
		if len(piece) < len(name) && (len(piece) >= 2 && strings.HasPrefix(name, piece) ||
			len(piece) >= 3 && strings.HasSuffix(piece, "__") && strings.HasSuffix(name, piece)) {
			return true
		}
	}
	return false
}

// makes returns a name that is among the pieces or, with ##, can be put
// together from them; else "".
func (t *traces) makes(names []string) string {
	for _, name := range names {
		if t.pieces[name] || t.pastes && t.covers(name) {
			return name
		}
	}
	return ""
}

// covers says whether name is a sequence of pieces.
func (t *traces) covers(name string) bool {
	reached := make([]bool, len(name)+1)
	reached[0] = true
	for end := 1; end <= len(name); end++ {
		for start := range end {
			if reached[start] && t.pieces[name[start:end]] {
				reached[end] = true
				break
			}
		}
	}
	return reached[len(name)]
}

// literal looks through a string literal, which may be assembler text, or a
// part of it that is joined to others.
func (t *traces) literal(text []byte) {
	if t.directives != "" || !bytes.ContainsAny(text, `.\`) {
		return
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			switch c = text[i]; {
			case c >= '0' && c <= '7', c == 'x', c == 'u', c == 'U', c == 'o', c == 'N':
				t.directives = "with a character by its number" // may spell anything
				return
			case isLetter(c):
				c = '\n' // white space, all of them
			}
		}
		plain = append(plain, c)
	}
	for i, c := range plain {
		if c == '.' {
			t.directive(plain[i:], behindName(plain[:i]))
		}
	}
}

// behindName says whether text ends in a name that the assembler sees as it is
// written: not an operand (%0), nor an argument of an assembler's macro (\x).
func behindName(text []byte) bool {
	i := len(text)
	for i > 0 && (isWord(text[i-1]) || text[i-1] == '.') {
		i--
	}
	return i < len(text) && (i == 0 || !bytes.ContainsRune([]byte("%\\@&"), rune(text[i-1])))
}

// directive notes text, which starts with a dot, if it may be the beginning of
// an .include or .incbin. Behind a name it is none: "atom.inc.u32" is the name
// of an instruction.
func (t *traces) directive(text []byte, behind bool) {
	if behind || t.directives != "" {
		return
	}
	n := 1
	for n < len(text) && (isWord(text[n]) || text[n] == '.') {
		n++
	}
	word := strings.ToLower(string(text[1:n]))
	if strings.HasPrefix("include", word) || strings.HasPrefix(word, "inc") {
		t.directives = strings.TrimSpace(string(text[:min(len(text), 20)]))
	}
}
