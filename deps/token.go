package deps

import (
	"bytes"
	"strings"
)

// token is a preprocessing token.
type token struct {
	kind  tokenKind
	text  string
	space bool  // white space stands before it
	hide  *hide // macros that it came from, which are not expanded in it again
	// unsure says that a compiler may make something else of it: it has a
	// predefined name, or such a name is in it.
	unsure bool
}

type tokenKind uint8

const (
	identifier  tokenKind = iota // also keywords
	number                       // a preprocessing number
	literal                      // a string or a character, without its prefix
	punctuation                  // one character, or a ## of any spelling
	odd                          // what compilers may read differently
)

// is says whether t is the punctuation.
func (t token) is(p string) bool { return t.kind == punctuation && t.text == p }

// lex returns the tokens of logical text from i to the end of the directive,
// which a comment carries over lines.
func lex(text []byte, i int) []token {
	var list []token
	space := false
	for i < len(text) && text[i] != '\n' {
		rest := text[i:]
		c := rest[0]
		n := 1
		t := token{kind: punctuation, space: space}
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
			n = literalLen(rest)
			t.kind = literal
			if n < 2 || rest[n-1] != c {
				t.kind = odd
			}
		case isLetter(c):
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			t.kind = identifier
		case c >= '0' && c <= '9', c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			for n < len(rest) && (isWord(rest[n]) || rest[n] == '.' ||
				(rest[n] == '+' || rest[n] == '-') && strings.ContainsRune("eEpP", rune(rest[n-1]))) {
				n++
			}
			t.kind = number
		case hashLen(rest) > 0:
			n = hashLen(rest)
			if n == 3 {
				t.kind = odd // a trigraph
			} else if second := hashLen(rest[n:]); second == n {
				n *= 2
			}
		case c == '\\', bytes.HasPrefix(rest, []byte("??")):
			t.kind = odd
		}
		t.text = string(rest[:n])
		switch t.text {
		case "%:":
			t.text = "#"
		case "%:%:":
			t.text = "##"
		}
		list = append(list, t)
		i += n
		space = false
	}
	return list
}

// literalLen returns the length of the literal that text starts with; it ends
// at its quote, or with the line as it does for compilers.
func literalLen(text []byte) int {
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

// spell joins the text of tokens, with a space wherever white space was.
func spell(list []token) string {
	var b strings.Builder
	for i, t := range list {
		if t.space && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// hide is a set of names, shared by tokens.
type hide struct {
	name string
	more *hide
}

func (h *hide) has(name string) bool {
	for ; h != nil; h = h.more {
		if h.name == name {
			return true
		}
	}
	return false
}

func (h *hide) size() (n int) {
	for ; h != nil; h = h.more {
		n++
	}
	return n
}

func (h *hide) with(name string) *hide {
	if h.has(name) {
		return h
	}
	return &hide{name, h}
}

// and returns what is in both.
func (h *hide) and(other *hide) *hide {
	var both *hide
	for ; h != nil; h = h.more {
		if other.has(h.name) {
			both = both.with(h.name)
		}
	}
	return both
}

// union returns what is in one or the other.
func (h *hide) union(other *hide) *hide {
	for ; other != nil; other = other.more {
		h = h.with(other.name)
	}
	return h
}
