// Package lexer tells the characters, literals and lines of C and its kin apart.
package lexer

import (
	"bytes"
	"iter"
	"unicode"
)

// Logical returns src as the compiler sees it before it looks for tokens: one
// kind of line end, no byte order mark, one kind of rare white space (NUL is
// some), and continued lines joined. doubtful says that compilers disagree about
// it: a backslash before blanks at the end of a line, or a trigraph that may end a
// line or a literal. joined are the places in text where lines were joined, which
// compilers take apart again within raw strings.
func Logical(src []byte) (text []byte, joined []int, doubtful bool) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	plain := 0 // what is behind it is not in text yet
	for i := nextUnusual(src, 0); i < len(src); i = nextUnusual(src, i+1) {
		as, end := byte(0), i+1 // what stands for the bytes up to end
		switch src[i] {
		case '\r':
			if as = '\n'; end < len(src) && src[end] == '\n' {
				end++
			}
		case '\\':
			var blanks bool
			if end, blanks = lineEnd(src, end); end == 0 {
				continue
			}
			doubtful = doubtful || blanks
		case '?':
			// A trigraph for a backslash or for an accent decides where a literal
			// ends, and only some compilers, by their options, know trigraphs.
			doubtful = doubtful || bytes.HasPrefix(src[i:], []byte("??/")) || bytes.HasPrefix(src[i:], []byte("??'"))
			continue
		default:
			as = '\v' // a blank, which no header's name may have in it
		}
		if text == nil {
			text = make([]byte, 0, len(src)+1)
		}
		if text = append(text, src[plain:i]...); as != 0 {
			text = append(text, as)
		} else {
			joined = append(joined, len(text))
		}
		plain, i = end, end-1
	}
	if text == nil && bytes.HasSuffix(src, []byte{'\n'}) {
		return src, nil, doubtful // most headers: nothing is copied
	}
	return append(append(text, src[plain:]...), '\n'), joined, doubtful
}

// unusual are the characters that may be other ones to a compiler.
const unusual = "\\?\r\x00\f\v"

// nextUnusual returns the index of the first of them from i on, or the length of src.
func nextUnusual(src []byte, i int) int {
	if n := bytes.IndexAny(src[i:], unusual); n >= 0 {
		return i + n
	}
	return len(src)
}

// lineEnd returns the index behind the line end that follows i, or 0 where
// something else follows; blanks says that blanks stood between.
func lineEnd(src []byte, i int) (end int, blanks bool) {
	for ; i < len(src); i++ {
		switch src[i] {
		case '\n':
			return i + 1, blanks
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				return i + 2, blanks
			}
			return i + 1, blanks
		case ' ', '\t', '\v', '\f', 0:
			blanks = true
		default:
			return 0, false
		}
	}
	return 0, false
}

// IsRareSpace reports whether c is white space that is not of ASCII.
func IsRareSpace(c rune) bool { return c == '\u180e' || c >= 0x80 && unicode.IsSpace(c) }

// SplitsWords reports whether a character of an option is part of no identifier.
func SplitsWords(c rune) bool { return c < 0x80 && !IsWord(byte(c)) || IsRareSpace(c) }

// IsBlank reports whether c is white space within a line of logical text.
func IsBlank(c byte) bool { return Classes[c] == Blank }

// IsLetter reports whether an identifier may begin with c, as far as this is told by a byte.
func IsLetter(c byte) bool { return Classes[c] == Letter }

// IsWord reports whether c may be a part of an identifier.
func IsWord(c byte) bool { return Classes[c] >= Digit }

// A Class is what a character means to a scanner.
type Class uint8

// The classes.
const (
	meaning Class = iota // alone, or with those behind it
	Blank
	Inert // an operator or a bracket that means nothing
	Digit
	Letter
)

// Classes are what the characters mean.
var Classes = classes()

func classes() (all [256]Class) {
	for c := range all {
		switch b := byte(c); {
		case b == '_' || b == '$' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80:
			all[c] = Letter
		case b >= '0' && b <= '9':
			all[c] = Digit
		case b == ' ' || b == '\t' || b == '\v':
			all[c] = Blank
		}
	}
	const operators = "()[]{};,=+-*<>&|^!~:"
	for i := range len(operators) {
		all[operators[i]] = Inert
	}
	return all
}

// HashLen returns the length of what introduces a directive, or 0.
func HashLen(b []byte) int {
	switch {
	case len(b) > 0 && b[0] == '#':
		return 1
	case len(b) > 1 && b[0] == '%' && b[1] == ':':
		return 2
	case len(b) > 2 && b[0] == '?' && b[1] == '?' && b[2] == '=':
		return 3
	}
	return 0
}

// LiteralLen returns the length of the literal that text starts with; it ends
// at its quote, or with the line as it does for compilers.
func LiteralLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case text[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

// Identifiers yields the names in a text, those in comments and literals among them.
func Identifiers(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 0; i < len(text); {
			if !IsWord(text[i]) {
				i++
				continue
			}
			from := i
			for i < len(text) && IsWord(text[i]) {
				i++
			}
			if IsLetter(text[from]) && !yield(text[from:i]) {
				return
			}
		}
	}
}

// Pairs holds which two characters of ASCII follow one another.
type Pairs [128][2]uint64

// Has reports whether b follows a.
func (p *Pairs) Has(a, b byte) bool { return p[a&127][b&127/64]&(1<<(b%64)) != 0 }

// Add notes that b follows a.
func (p *Pairs) Add(a, b byte) { p[a&127][b&127/64] |= 1 << (b % 64) }
