package macro

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// Token is a preprocessing token.
type Token struct {
	Kind  tokenKind
	Text  string
	space bool // white space stands before it
	hide  hide // macros that it came from, which are not expanded in it again
	// unsure says that a compiler may make something else of it: it has a
	// predefined name, or such a name is in it.
	unsure bool
}

type tokenKind uint8

const (
	Identifier  tokenKind = iota // also keywords
	number                       // a preprocessing number
	literal                      // a string or a character, without its prefix
	punctuation                  // one character, or a ## of any spelling
	odd                          // what compilers may read differently
)

// Is reports whether t is the punctuation.
func (t Token) Is(p string) bool { return t.Kind == punctuation && t.Text == p }

// Lex returns the tokens of logical text from i to the end of the directive,
// which a comment carries over lines.
func Lex(text []byte, i int) []Token {
	var list []Token
	space := false
	for i < len(text) && text[i] != '\n' {
		rest := text[i:]
		c := rest[0]
		n := 1
		t := Token{Kind: punctuation, space: space}
		switch {
		case c == ' ' || c == '\t' || c == '\v':
			i++
			space = true
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			return list
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return list
			}
			i += 2 + end + 2
			space = true
			continue
		case c == '"' || c == '\'':
			n = lexer.LiteralLen(rest)
			t.Kind = literal
			if n < 2 || rest[n-1] != c {
				t.Kind = odd
			}
		case lexer.IsLetter(c):
			for n < len(rest) && lexer.IsWord(rest[n]) {
				n++
			}
			t.Kind = Identifier
		case c >= '0' && c <= '9', c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			for n < len(rest) && (lexer.IsWord(rest[n]) || rest[n] == '.' ||
				(rest[n] == '+' || rest[n] == '-') && strings.ContainsRune("eEpP", rune(rest[n-1]))) {
				n++
			}
			t.Kind = number
		case lexer.HashLen(rest) > 0:
			n = lexer.HashLen(rest)
			if n == 3 {
				t.Kind = odd // a trigraph
			} else if second := lexer.HashLen(rest[n:]); second == n {
				n *= 2
			}
		case c == '\\', bytes.HasPrefix(rest, []byte("??")):
			t.Kind = odd
		}
		t.Text = string(rest[:n])
		switch t.Text {
		case "%:":
			t.Text = "#"
		case "%:%:":
			t.Text = "##"
		}
		list = append(list, t)
		i += n
		space = false
	}
	return list
}

// Spell joins the text of tokens, with a space wherever white space was.
func Spell(list []Token) string {
	var b strings.Builder
	for i, t := range list {
		if t.space && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// hide is a set of names, shared by tokens, and never changed.
type hide []string

func (h hide) has(name string) bool { return slices.Contains(h, name) }

// with returns the set with names that may be in it.
func (h hide) with(names ...string) hide {
	for _, name := range names {
		if !h.has(name) {
			h = append(slices.Clip(h), name)
		}
	}
	return h
}

// and returns what is in both.
func (h hide) and(other hide) hide {
	return slices.DeleteFunc(slices.Clone(h), func(name string) bool { return !other.has(name) })
}
