package deps

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kernstash/kernstash/reason"
)

// source is what a scan of one source, or header file, found.
type source struct {
	text    []byte // logical text, which lines and macros point into
	joined  []int  // where its lines were joined
	lines   []line
	macros  []definition
	undefs  []string
	asks    bool // a macro of it has __has_include in it
	follows bool // it has a line that depends on where the source was found: include_next
	nests   bool // likewise, for what it includes: a file that is found beside it goes on there
	reason  Reason
}

// size returns how much of it was kept.
func (s *source) size() int { return len(s.lines) + len(s.macros) + len(s.undefs) }

// line is one that reads or looks for a file, or may do so.
type line struct {
	kind lineKind
	next bool   // the search goes on where the source itself was found
	form byte   // '"' or '<'; 0: computed, from the tokens at
	name string // as written, without delimiters
	at   int
	end  int // of the directive, with the lines that a comment carries it over; of a condition alone
}

type lineKind uint8

const (
	include   lineKind = iota // #include and its kin
	question                  // __has_include, which decides by a file
	condition                 // an #if, in which a macro may ask for files; computed
)

type definition struct {
	name string
	at   int // behind the name
	end  int // of the directive
}

// reads says, for people, what the first line is that reads or looks for a
// file that is not among those given; "" for none.
func (s *source) reads(given map[string]bool) string {
	for _, l := range s.lines {
		switch {
		case l.kind == condition:
		case l.form == 0 || l.next || l.kind == question:
			return s.show(l)
		case !given[l.name]:
			return s.show(l)
		}
	}
	if s.asks {
		return "__has_include in a macro"
	}
	return ""
}

func (s *source) show(l line) string {
	directive := "#include "
	switch {
	case l.kind == question:
		directive = "__has_include "
	case l.next:
		directive = "#include_next "
	}
	switch l.form {
	case '"':
		return directive + `"` + l.name + `"`
	case '<':
		return directive + "<" + l.name + ">"
	}
	computed := spell(lex(s.text, l.at))
	if len(computed) > 80 {
		computed = computed[:80] + "…"
	}
	return directive + computed
}

// scan looks through C, OpenCL C, CUDA or HIP source for what makes a build
// depend on more than the source. It leaves to t what several sources add up to.
func scan(src []byte, t *traces) *source {
	text, joined, doubtful := logical(src)
	s := scanner{text: text, joined: joined, traces: t, found: &source{text: text, joined: joined}}
	if doubtful {
		s.doubt("a continued line or a trigraph that compilers read differently")
	}
	// NVRTC's front end knows no #pragma GCC dependency; clang looks at the file that it names.
	t.renames = t.renames || contains(text, "include_alias") || !t.ptx && contains(text, "dependency")
	s.skims = t.alone && isSkimmed(text)
	s.scan()
	for _, l := range s.found.lines {
		s.found.nests = s.found.nests || l.kind == include && l.form != '<'
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
	found     *source
	traces    *traces
	skims     bool            // see skim
	watch     map[string]bool // names to look for in code
	watched   string          // the one that was found
}

func (s *scanner) doubt(detail string) {
	if s.found.reason.None() {
		s.found.reason = Reason{reason.NotCacheableHeaders, detail}
	}
}

func (s *scanner) scan() {
	for s.i < len(s.text) {
		if s.skims && !s.started {
			s.skim()
		}
		if s.plain(); s.i == len(s.text) {
			break
		}
		c := s.text[s.i]
		switch classes[c] {
		case letter:
			first := !s.started
			s.started = true
			s.identifier(first)
			continue
		case digit:
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
		case !s.started && hashLen(rest) > 0:
			s.started = true
			s.i += hashLen(rest)
			s.directive()
		case c == '"' || c == '\'':
			s.started = true
			s.literal(c)
		default:
			s.started = true
			if n := hashLen(rest); n > 0 && hashLen(rest[n:]) > 0 {
				s.traces.pastes = true
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

// endDirective notes where a directive ends that is looked at again.
func (s *scanner) endDirective() {
	switch {
	case s.defining && len(s.found.macros) > 0:
		s.found.macros[len(s.found.macros)-1].end = s.i
	case s.decides:
		s.found.lines[s.condition].end = s.i
	}
}

// hashLen returns the length of what introduces a directive, or 0.
func hashLen(b []byte) int {
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
	n := literalLen(s.text[s.i:])
	if quote == '"' && !s.message {
		s.traces.assembler.literal(bytes.TrimSuffix(s.text[s.i+1:s.i+n], []byte{'"'}))
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
	behind := len(before) > 0 && (isWord(before[len(before)-1]) || bytes.IndexByte([]byte(".])"), before[len(before)-1]) >= 0)
	start := strings.ToLower(string(text[:min(4, len(text))]))
	if !behind || start == ".inc" || start == ".mac" || start == ".irp" || start == ".alt" {
		s.traces.assembler.dot(text, ",)#%", true)
	}
}

func (s *scanner) identifier(first bool) {
	name := s.word()
	if s.message || len(name) == 1 && len(s.watch) == 0 && s.traces.seen(name[0]) {
		return
	}
	s.traces.identifier(name)
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
	case 'i':
		if first && string(name) == "import" {
			s.blanks()
			if s.i < len(s.text) && (s.text[s.i] == '"' || s.text[s.i] == '<') {
				s.doubt("import of a header unit")
			}
		}
	}
}

// mayMatter says whether [scanner.identifier] may do something about a name of ASCII, with
// what was found before: told by its first three characters.
func mayMatter(name []byte, t *traces) bool {
	if len(name) == 1 {
		return !t.seen(name[0])
	}
	return starts.has(name[0], name[1]) && (len(name) == 2 || middles.has(name[1], name[2]))
}

// couples holds which two characters of ASCII follow one another.
//
// A table is cleared before it is filled: to write to a page that was only read yet costs a
// second fault, and the other processors' word that they know.
type couples [128][2]uint64

func (p *couples) has(a, b byte) bool { return p[a&127][b&127/64]&(1<<(b%64)) != 0 }

func (p *couples) add(a, b byte) { p[a&127][b&127/64] |= 1 << (b % 64) }

// starts holds the first two characters of the names that matter, and middles the second
// with the third.
var starts, middles couples

func init() {
	clear(starts[:])
	for i := range len(counting) - 1 {
		starts.add(counting[i], counting[i+1])
	}
	for _, name := range readers {
		for i := range len(name) - 1 {
			a, b := name[i], name[i+1]
			for _, pair := range [...][2]byte{{a, b}, {a - 0x20, b}, {a, b - 0x20}, {a - 0x20, b - 0x20}} { // capitals, too
				starts.add(pair[0], pair[1])
			}
		}
	}
	middles = starts
	for _, name := range [...]string{"__", "_P", "LR", "uR", "UR", "u8", "im"} {
		starts.add(name[0], name[1])
	}
	for _, rest := range [...]string{"_D", "_T", "_h", "Pr", "8R", "mp"} {
		middles.add(rest[0], rest[1])
	}
}

// reserved looks at a name that starts with an underscore.
func (s *scanner) reserved(name string) {
	switch {
	case name == "__DATE__" || name == "__TIME__" || name == "__TIMESTAMP__":
		if s.found.reason.None() {
			s.found.reason = Reason{reason.NotCacheableTime, name}
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
	start := s.i
	if ascii := s.digits(); ascii >= 0x80 {
		s.doubtSpaces(s.text[start:s.i])
	}
}

// digits passes over them; ascii is below 0x80 if all that it looked at is ASCII.
func (s *scanner) digits() (ascii byte) {
	separated := false
	for s.i++; s.i < len(s.text); s.i++ {
		ascii |= s.text[s.i]
		switch c := s.text[s.i]; {
		case c == '\'' && s.i+1 < len(s.text) && isWord(s.text[s.i+1]):
			separated = true
		case c == '\'':
			s.doubt("a quote behind a number")
			return ascii
		case !isWord(c) && c != '.':
			if separated && !s.plainRest() {
				s.doubt("a quote behind a number")
			}
			return ascii
		}
	}
	return ascii
}

// plainRest says whether the rest of the line is made of the same tokens, but for names
// and numbers, whether it is in a character literal or not.
func (s *scanner) plainRest() bool {
	rest := s.text[s.i:]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	for i, c := range rest {
		switch c {
		case '"', '\\':
			return false
		case '\'': // but where it separates digits, too
			if i == 0 || i+1 == len(rest) || !isWord(rest[i-1]) || !isWord(rest[i+1]) {
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
	for i < len(text) && isWord(text[i]) {
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
	if bytes.ContainsFunc(word, isRareSpace) || !utf8.Valid(word) {
		s.doubt("white space that compilers read differently")
	}
}

// blanks passes over white space and comments within a line.
func (s *scanner) blanks() {
	for s.i < len(s.text) {
		switch rest := s.text[s.i:]; {
		case isBlank(rest[0]):
			s.i++
		case bytes.HasPrefix(rest, []byte("/*")):
			s.comment()
		default:
			return
		}
	}
}

func isRareSpace(c rune) bool { return c == '\u180e' || c >= 0x80 && unicode.IsSpace(c) }

// splitsWords says whether a character of an option is part of no identifier.
func splitsWords(c rune) bool { return c < 0x80 && !isWord(byte(c)) || isRareSpace(c) }

func isBlank(c byte) bool { return classes[c] == blank }

func isLetter(c byte) bool { return classes[c] == letter }

func isWord(c byte) bool { return classes[c] >= digit }

// class is what a character means to the scanner.
type class uint8

const (
	meaning class = iota // alone, or with those behind it
	blank
	inert // an operator or a bracket that means nothing
	digit
	letter
)

var classes [256]class

func init() {
	for c := range classes {
		switch b := byte(c); {
		case b == '_' || b == '$' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80:
			classes[c] = letter
		case b >= '0' && b <= '9':
			classes[c] = digit
		case b == ' ' || b == '\t' || b == '\v':
			classes[c] = blank
		}
	}
	const operators = "()[]{};,=+-*<>&|^!~:"
	for i := range len(operators) {
		classes[operators[i]] = inert
	}
}
