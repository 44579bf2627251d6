package scan

import (
	"bytes"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// MaxDirectives bounds the memory that the lines and macros of a unit take.
const MaxDirectives = 1 << 20

// directive looks at what follows a #. What it does not take is scanned as code.
func (s *scanner) directive() {
	if s.found.Size() > MaxDirectives {
		s.doubt("too many directives")
		s.i = len(s.text)
		return
	}
	s.blanks()
	switch name := string(s.word()); name {
	case "include", "import", "include_next":
		s.blanks()
		s.reference(Line{Kind: Include, Next: name == "include_next"}, '\n')
	case "embed":
		s.doubt("#embed")
	case "pragma":
		s.pragma()
	case "define":
		s.blanks()
		if macro := s.word(); len(macro) > 0 {
			s.found.Macros = append(s.found.Macros, Definition{Name: string(macro), At: s.i})
			s.traces.piece(macro)
		}
		s.defining = true
	case "undef":
		s.blanks()
		start := s.i
		s.found.Undefs = append(s.found.Undefs, string(s.word()))
		s.i = start
		s.testing = true
	case "ifdef", "ifndef", "elifdef", "elifndef":
		s.testing = true
	case "error", "warning":
		s.message = true
		s.openComment(s.restOfLine()) // clang knows no comment there, GCC does
	case "if", "elif":
		s.condition = len(s.found.Lines)
		s.found.Lines = append(s.found.Lines, Line{Kind: Condition, At: s.i})
		s.decides = true
	}
}

// maxName is more than a name may have on any system. A line may have many names.
const maxName = 1 << 13

// reference takes a header's name, before the byte end, or notes where to compute it.
func (s *scanner) reference(l Line, end byte) {
	s.found.Follows = s.found.Follows || l.Next
	rest := s.text[s.i:min(len(s.text), s.i+maxName)]
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '<') {
		closing := "\"\n"
		if rest[0] == '<' {
			closing = ">\n"
		}
		n := bytes.IndexAny(rest[1:], closing)
		if n >= 0 && rest[1+n] == '\n' {
			rest, n = rest[:1+n], -1
		}
		name := string(rest[1 : 1+max(n, 0)])
		if n <= 0 || strings.ContainsAny(name, "\\\v") {
			s.doubt("a header's name that compilers read differently: " + strings.TrimSpace(string(rest[:min(len(rest), 80)])))
			return
		}
		if l.Form, l.Name = rest[0], name; l.Form == '<' && hidesTokens(name) {
			s.openComment(s.restOfLine()) // in what a condition skips, a name is tokens to clang
		}
		s.found.Lines = append(s.found.Lines, l)
		s.i += 1 + n + 1
		if s.blanks(); end != '\n' && (s.i == len(s.text) || s.text[s.i] != end) {
			s.doubt("__has_include in an unusual form")
		}
		return
	}
	l.At = s.i // what follows is scanned as code
	s.found.Lines = append(s.found.Lines, l)
}

// hidesTokens reports whether a name between <>, read as tokens, may begin a literal or a comment.
func hidesTokens(name string) bool {
	return strings.ContainsAny(name, `"'`) || strings.Contains(name, "//") || strings.Contains(name, "/*")
}

func (s *scanner) restOfLine() []byte {
	rest := s.text[s.i:]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		return rest[:n]
	}
	return rest // an open comment took it all
}

// question looks at what follows __has_include; that in a macro counts where this is used.
func (s *scanner) question(name string) {
	next := strings.HasPrefix(name, "__has_include_next")
	start := s.i
	switch s.blanks(); {
	case s.defining:
		s.found.Asks = true
		s.found.Follows = s.found.Follows || next
		s.i = start
	case s.i < len(s.text) && s.text[s.i] == '(':
		s.i++
		s.blanks()
		s.reference(Line{Kind: Question, Next: next}, ')')
	case s.testing || behindDefined(s.text[:start-len(name)]):
		s.i = start
	default:
		s.doubt("__has_include in an unusual form")
	}
}

// behindDefined reports whether text ends in "defined" or "defined (".
func behindDefined(text []byte) bool {
	text = bytes.TrimRight(text, " \t\v")
	text = bytes.TrimSuffix(text, []byte("("))
	return bytes.HasSuffix(bytes.TrimRight(text, " \t\v"), []byte("defined"))
}

// savesMacro reports whether a pragma does nothing but save or restore what a macro means,
// whatever that is called: all its definitions are looked at.
func savesMacro(pragma []byte) bool {
	words := bytes.Fields(pragma)
	text := bytes.Join(words, nil)
	for _, what := range []string{"push_macro(\"", "pop_macro(\""} {
		if name, ok := bytes.CutPrefix(text, []byte(what)); ok {
			name, ok = bytes.CutSuffix(name, []byte("\")"))
			return ok && !bytes.ContainsFunc(name, func(r rune) bool { return r > 127 || !lexer.IsWord(byte(r)) })
		}
	}
	return false
}

// pragma doubts the pragmas that read or rename files.
func (s *scanner) pragma() {
	line := s.restOfLine()
	if bytes.Contains(line, []byte("mark")) {
		s.openComment(line) // as in an #error
	}
	if savesMacro(line) {
		return
	}
	for _, w := range []string{"include_alias", "dependency", "module", "import", "pch_preprocess"} {
		if bytes.Contains(line, []byte(w)) {
			s.doubt("#pragma " + w)
		}
	}
}
