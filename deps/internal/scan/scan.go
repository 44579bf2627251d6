// Package scan looks through C, OpenCL C, CUDA or HIP source for what makes a build depend
// on more than the source.
package scan

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/reason"
)

// Scan looks through a source, and leaves to t what several sources of a unit add up to.
func Scan(src []byte, t *Traces) *Source {
	text, joined, doubtful := lexer.Logical(src)
	s := scanner{text: text, joined: joined, traces: t, found: &Source{Text: text, joined: joined}}
	if doubtful {
		s.doubt("a continued line or a trigraph that compilers read differently")
	}
	if t.PTX && bytes.Count(src, []byte("\r")) != bytes.Count(src, []byte("\r\n")) {
		s.doubt("a carriage return alone, which ends no line to NVIDIA's front end")
	}
	s.scan()
	for _, l := range s.found.Lines {
		s.found.Nests = s.found.Nests || l.Kind == Include && l.Form != '<'
	}
	return s.found
}

// scanner goes through logical text, telling code from comments and literals.
type scanner struct {
	text      []byte
	joined    []int // where lines were joined
	i         int
	started   bool // something but white space stood on this line already
	defining  bool // the line defines a macro
	testing   bool // the line asks whether macros are defined
	message   bool // the line is text for people
	decides   bool // the line is a condition, which is looked at for itself
	condition int  // its index in the lines
	odd       bool // a raw string had no certain end
	found     *Source
	traces    *Traces
	watch     map[string]bool // names to look for in code
	watched   string          // the one that was found
}

func (s *scanner) doubt(detail string) {
	if s.found.Reason.None() {
		s.found.Reason = reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: detail}
	}
}

func (s *scanner) scan() {
	for s.i < len(s.text) {
		s.plain()
		if s.i == len(s.text) {
			break
		}
		c := s.text[s.i]
		switch lexer.Classes[c] {
		case lexer.Letter:
			first := !s.started
			s.started = true
			s.identifier(s.word(), first)
			continue
		case lexer.Digit:
			s.started = true
			s.number()
			continue
		}
		rest := s.text[s.i:]
		switch {
		case c == '\n':
			s.endDirective()
			s.started, s.defining, s.testing, s.message, s.decides = false, false, false, false, false
			s.i++
		case c == '/' && rest[1] == '/':
			s.i += bytes.IndexByte(rest, '\n') // the text ends with a line end
		case c == '/' && rest[1] == '*':
			s.comment()
		case !s.started && lexer.HashLen(rest) > 0:
			s.started = true
			s.i += lexer.HashLen(rest)
			s.directive()
		case c == '"' || c == '\'':
			s.started = true
			s.literal(c)
		default:
			s.started = true
			if n := lexer.HashLen(rest); n > 0 && lexer.HashLen(rest[n:]) > 0 {
				s.traces.Pastes = true
			}
			if c == '.' {
				line, _, _ := bytes.Cut(rest[:min(len(rest), 100)], []byte{'\n'})
				s.dot(line)
			}
			s.i++
		}
	}
	s.endDirective()
}

// plain passes over what means nothing: most of a source.
func (s *scanner) plain() {
	text, i := s.text, s.i
	defer func() { s.i = i }()
	for i < len(text) {
		class, end, ascii := lexer.Classes[text[i]], i+1, text[i]
		switch class {
		case lexer.Blank:
			i++
			continue
		case lexer.Digit, lexer.Letter:
			for end < len(text) && lexer.IsWord(text[end]) {
				ascii |= text[end]
				end++
			}
			if ascii >= 0x80 || class == lexer.Digit && end < len(text) && (text[end] == '.' || text[end] == '\'') ||
				class == lexer.Letter && (len(s.watch) > 0 || mayMatter(text[i:end]) && !s.traces.knows(text[i:end])) {
				return
			}
		case lexer.Inert:
		default:
			return
		}
		s.started, i = true, end
	}
}

// endDirective notes where a directive ends that is looked at again.
func (s *scanner) endDirective() {
	switch {
	case s.defining && len(s.found.Macros) > 0:
		s.found.Macros[len(s.found.Macros)-1].End = s.i
	case s.decides:
		s.found.Lines[s.condition].End = s.i
	}
}

func (s *scanner) comment() {
	end := bytes.Index(s.text[s.i+2:], []byte("*/"))
	if end < 0 {
		s.i = len(s.text)
		return
	}
	s.i += 2 + end + 2
}

// literal passes over a string or character literal.
func (s *scanner) literal(quote byte) {
	n := lexer.LiteralLen(s.text[s.i:])
	if quote == '"' && !s.message {
		s.traces.literal(bytes.TrimSuffix(s.text[s.i+1:s.i+n], []byte{'"'}))
	}
	if s.text[s.i+n-1] != quote || n == 1 {
		s.openComment(s.text[s.i : s.i+n])
	}
	s.i += n
}

// openComment doubts a comment that is open at the end of a line that not all
// compilers split into the same tokens: some read no comment there.
func (s *scanner) openComment(line []byte) {
	if i := bytes.LastIndex(line, []byte("/*")); i >= 0 && !bytes.Contains(line[i+2:], []byte("*/")) {
		s.doubt("a comment that compilers read differently")
	}
}

// dot notes a dot in code, of which a macro may make a string: not that of a
// member, unless what it is a member of may be a macro that vanishes.
func (s *scanner) dot(text []byte) {
	if s.message {
		return
	}
	before := bytes.TrimRight(s.text[:s.i], " \t\v")
	behind := len(before) > 0 && (lexer.IsWord(before[len(before)-1]) || bytes.IndexByte([]byte(".])"), before[len(before)-1]) >= 0)
	start := strings.ToLower(string(text[:min(4, len(text))]))
	if !behind || start == ".inc" || start == ".mac" || start == ".irp" || start == ".alt" {
		s.traces.assembler.dot(text, ",)#%")
	}
}

func (s *scanner) identifier(name []byte, first bool) {
	if s.message {
		return
	}
	s.traces.piece(name)
	if len(s.watch) > 0 && s.watch[string(name)] && !s.defining && !s.testing && !s.decides {
		s.watched = string(name)
	}
	switch name[0] {
	case '_':
		// Most names of a library begin so: only those of these beginnings cost more.
		if len(name) > 6 && (name[1] == '_' && (name[2] == 'D' || name[2] == 'T' || name[2] == 'h') || name[1] == 'P') {
			s.reserved(string(name))
		}
	case 'R', 'L', 'u', 'U':
		switch string(name) {
		case "R", "LR", "uR", "UR", "u8R":
			// A raw string in C++, an ordinary one after an identifier in C:
			// where it ends depends on the language.
			if s.i < len(s.text) && s.text[s.i] == '"' && !s.raw() {
				s.doubt("a raw string")
			}
		}
	case 'd':
		s.traces.pragma(name)
	case 'i':
		s.traces.pragma(name)
		if first && string(name) == "import" {
			s.blanks()
			if s.i < len(s.text) && (s.text[s.i] == '"' || s.text[s.i] == '<') {
				s.doubt("import of a header unit")
			}
		}
	}
}

// mayMatter reports whether [scanner.identifier] may do something about a name.
func mayMatter(name []byte) bool {
	switch string(name) {
	case "LR", "uR", "UR", "u8R", "import", "_Pragma", "include_alias", "dependency":
		return true
	}
	return names.MayCount(name) || bytes.HasPrefix(name, []byte("__has_"))
}

// reserved looks at a name that starts with an underscore.
func (s *scanner) reserved(name string) {
	switch {
	case name == "__DATE__" || name == "__TIME__" || name == "__TIMESTAMP__":
		if s.found.Reason.None() {
			s.found.Reason = reason.Uncacheable{Code: reason.NotCacheableTime, Detail: name}
		}
	case strings.HasPrefix(name, "__has_embed"):
		s.doubt(name)
	case strings.HasPrefix(name, "__has_include"):
		s.question(name)
	case name == "_Pragma":
		s.traces.pragmas = true
	}
}

// number passes over a preprocessing number. A quote in it separates digits in
// C++14 and C23, and opens a character literal elsewhere: of which only the rest of
// the line depends.
func (s *scanner) number() {
	text, i := s.text, s.i
	start, ascii, separated := i, byte(0), false
	for i++; i < len(text) && (lexer.IsWord(text[i]) || text[i] == '.' || text[i] == '\'' && i+1 < len(text) && lexer.IsWord(text[i+1])); i++ {
		ascii |= text[i]
		separated = separated || text[i] == '\''
	}
	s.i = i
	if i < len(text) && (text[i] == '\'' || separated && !s.plainRest()) {
		s.doubt("a quote behind a number")
	}
	if ascii >= 0x80 {
		s.doubtSpaces(text[start:i])
	}
}

// plainRest reports whether the rest of the line is made of the same tokens, but for names
// and numbers, whether it is in a character literal or not.
func (s *scanner) plainRest() bool {
	rest := s.restOfLine()
	for i, c := range rest {
		switch c {
		case '"', '\\':
			return false
		case '\'': // but where it separates digits, too
			if i == 0 || i+1 == len(rest) || !lexer.IsWord(rest[i-1]) || !lexer.IsWord(rest[i+1]) {
				return false
			}
		case '*':
			if i > 0 && rest[i-1] == '/' {
				return false
			}
		}
	}
	return true
}

func (s *scanner) word() []byte {
	text, i := s.text, s.i
	ascii := byte(0)
	for i < len(text) && lexer.IsWord(text[i]) {
		ascii |= text[i]
		i++
	}
	start := s.i
	s.i = i
	if ascii >= 0x80 {
		s.doubtSpaces(text[start:i])
	}
	return text[start:i]
}

// doubtSpaces doubts white space that is not of ASCII, as a no-break space that was
// copied from a page: clang takes it for white space while it compiles (and not under
// -E), other compilers do not. So may one of them what is not of UTF-8.
func (s *scanner) doubtSpaces(word []byte) {
	if bytes.ContainsFunc(word, lexer.IsRareSpace) || !utf8.Valid(word) {
		s.doubt("white space that compilers read differently")
	}
}

// blanks passes over white space and comments within a line.
func (s *scanner) blanks() {
	for s.i < len(s.text) {
		switch rest := s.text[s.i:]; {
		case lexer.IsBlank(rest[0]):
			s.i++
		case bytes.HasPrefix(rest, []byte("/*")):
			s.comment()
		default:
			return
		}
	}
}

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
