package deps

import (
	"bytes"
	"strings"

	"github.com/kernstash/kernstash/stats"
)

// Findings are what a scan of one source found.
type Findings struct {
	Includes []string // names of literal includes as written, delimiters left out
	Computed string   // the first line that reads or looks for a file in another way; "" for none
	Reason   Reason   // what makes the source uncacheable whatever its includes are
}

// Scan looks through C, OpenCL C, CUDA or HIP source for what makes a build
// depend on more than the source.
func Scan(src []byte) Findings {
	var t traces
	f := scan(src, &t)
	if f.Reason.None() {
		f.Reason = t.reason()
	}
	return f
}

// scan is Scan, which leaves to t what several sources add up to.
func scan(src []byte, t *traces) Findings {
	text, doubtful := logical(src)
	s := scanner{text: text, traces: t}
	if doubtful {
		s.doubt("a continued line that compilers read differently")
	}
	s.scan()
	return s.found
}

// scanner goes through logical text, telling code from comments and literals.
type scanner struct {
	text    []byte
	i       int
	started bool // something but white space stood on this line already
	pragmas bool // a _Pragma was seen
	found   Findings
	traces  *traces
}

func (s *scanner) doubt(detail string) {
	if s.found.Reason.None() {
		s.found.Reason = Reason{stats.NotCacheableHeaders, detail}
	}
}

// reads notes a line that reads or looks for a file.
func (s *scanner) reads(line string) {
	if s.found.Computed == "" {
		s.found.Computed = line
	}
}

func (s *scanner) scan() {
	for s.i < len(s.text) {
		rest := s.text[s.i:]
		switch c := rest[0]; {
		case c == '\n':
			s.started = false
			s.i++
		case c == ' ' || c == '\t':
			s.i++
		case bytes.HasPrefix(rest, []byte("//")):
			s.i += bytes.IndexByte(rest, '\n') // the text ends with a line end
		case bytes.HasPrefix(rest, []byte("/*")):
			s.comment()
		case !s.started && hashLen(rest) > 0:
			s.started = true
			s.i += hashLen(rest)
			s.directive()
		case c == '"' || c == '\'':
			s.started = true
			s.literal(c)
		case isLetter(c):
			s.started = true
			s.identifier()
		case c >= '0' && c <= '9':
			s.started = true
			s.number()
		default:
			s.started = true
			if n := hashLen(rest); n > 0 && hashLen(rest[n:]) > 0 {
				s.traces.pastes = true
			}
			if c == '.' {
				s.dot(rest[:bytes.IndexByte(rest, '\n')])
			}
			s.i++
		}
	}
}

// hashLen returns the length of what introduces a directive, or 0.
func hashLen(b []byte) int {
	for _, h := range []string{"#", "%:", "??="} {
		if bytes.HasPrefix(b, []byte(h)) {
			return len(h)
		}
	}
	return 0
}

func (s *scanner) comment() {
	end := bytes.Index(s.text[s.i+2:], []byte("*/"))
	if end < 0 {
		s.i = len(s.text)
		return
	}
	s.i += 2 + end + 2
}

// literal passes over a string or character literal; it ends at its quote, or
// with the line as it does for compilers.
func (s *scanner) literal(quote byte) {
	if start := s.i + 1; quote == '"' {
		defer func() { s.traces.literal(s.text[start:s.i]) }()
	}
	for s.i++; s.i < len(s.text); s.i++ {
		switch s.text[s.i] {
		case '\\':
			if s.text[s.i+1] != '\n' {
				s.i++
			}
		case quote:
			s.i++
			return
		case '\n':
			return
		}
	}
}

// dot notes a dot in code, which a macro may make a string of: not that of a
// member, unless what it is a member of may be a macro that vanishes.
func (s *scanner) dot(text []byte) {
	behind := s.i > 0 && (isWord(s.text[s.i-1]) || s.text[s.i-1] == '.')
	s.traces.directive(text, behind && !bytes.HasPrefix(bytes.ToLower(text), []byte(".inc")))
}

func (s *scanner) identifier() {
	name := s.word()
	s.traces.identifier(name)
	switch {
	case name == "__DATE__" || name == "__TIME__" || name == "__TIMESTAMP__":
		if s.found.Reason.None() {
			s.found.Reason = Reason{stats.NotCacheableTime, name}
		}
	case strings.HasPrefix(name, "__has_embed"):
		s.doubt(name)
	case strings.HasPrefix(name, "__has_include"):
		s.reads(name) // __has_include__ and __has_include_next__ are GCC's
	case name == "_Pragma":
		if !s.pragmas && bytes.Contains(s.text, []byte("include_alias")) {
			s.doubt("include_alias beside _Pragma")
		}
		s.pragmas = true
	case name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R":
		// A raw string in C++, an ordinary one after an identifier in C: where
		// it ends depends on the language.
		if s.i < len(s.text) && s.text[s.i] == '"' {
			s.doubt("a raw string")
		}
	}
}

// number passes over a preprocessing number. A quote in it separates digits in
// C++14 and C23, and opens a character literal elsewhere.
func (s *scanner) number() {
	for s.i++; s.i < len(s.text); s.i++ {
		switch c := s.text[s.i]; {
		case c == '\'':
			s.doubt("a quote behind a number")
			return
		case !isWord(c) && c != '.':
			return
		}
	}
}

func (s *scanner) word() string {
	start := s.i
	for s.i < len(s.text) && isWord(s.text[s.i]) {
		s.i++
	}
	return string(s.text[start:s.i])
}

// blanks passes over white space and comments within a line.
func (s *scanner) blanks() {
	for s.i < len(s.text) {
		switch rest := s.text[s.i:]; {
		case rest[0] == ' ' || rest[0] == '\t':
			s.i++
		case bytes.HasPrefix(rest, []byte("/*")):
			s.comment()
		default:
			return
		}
	}
}

func isIncluding(directive string) bool {
	switch directive {
	case "include", "include_next", "import", "embed":
		return true
	}
	return false
}

// directive looks at what follows a #.
func (s *scanner) directive() {
	s.blanks()
	name := s.word()
	if name == "pragma" {
		s.pragma()
		return
	}
	if !isIncluding(name) {
		return // the rest of the line is scanned as code
	}
	s.blanks()
	rest := s.text[s.i:]
	line := rest[:bytes.IndexByte(rest, '\n')]
	closing := byte(0)
	switch {
	case name == "embed":
	case len(line) > 0 && line[0] == '"':
		closing = '"'
	case len(line) > 0 && line[0] == '<':
		closing = '>'
	}
	if closing != 0 {
		if end := bytes.IndexByte(line[1:], closing); end > 0 && name == "include" {
			s.found.Includes = append(s.found.Includes, string(line[1:1+end]))
			s.i += 1 + end + 1
			return
		}
	}
	if name == "embed" {
		s.doubt("#embed")
		return
	}
	s.reads("#" + name + " " + strings.TrimSpace(string(line)))
}

// pragma doubts the pragmas that read or rename files.
func (s *scanner) pragma() {
	rest := s.text[s.i:]
	line := rest[:bytes.IndexByte(rest, '\n')]
	for _, w := range []string{"include_alias", "dependency", "module", "import"} {
		if bytes.Contains(line, []byte(w)) {
			s.doubt("#pragma " + w)
		}
	}
}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isWord(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }
