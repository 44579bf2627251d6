// Package randomname recognizes the constant of a random name that pyopencl ends sources with,
// and reports whether a source means the same without it.
package randomname

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pyopencl ends each source that its own cache does not have with a constant of a random
// name, so that no driver finds the source in a cache: cache.py, from 2011.1 to 2026.1.
// The source before it is the same at each start.
const (
	stem      = "pyopencl_defeat_cache_"
	head      = "\n\n__constant int " + stem
	tail      = " = 0;"
	hexDigits = 32
)

// Cut returns code without the constant, and the constant's name; "" where code does
// not end with one.
func Cut(code []byte) (rest []byte, name string) {
	at := len(code) - len(head) - hexDigits - len(tail)
	if at < 0 || !bytes.HasPrefix(code[at:], []byte(head)) || !bytes.HasSuffix(code, []byte(tail)) {
		return code, ""
	}
	digits := code[at+len(head) : len(code)-len(tail)]
	if len(bytes.Trim(digits, "0123456789abcdef")) > 0 {
		return code, ""
	}
	return code[:at], stem + string(digits)
}

// HasOption reports whether a word of a variable's value looks like an option: - and another - or a letter.
// No regular expressions here: what they need takes 0.1 ms of each process in which the library is loaded.
func HasOption(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r\"'", r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 1 && w[0] == '-' && (w[1] == '-' || 'a' <= w[1]|0x20 && w[1]|0x20 <= 'z')
	})
}

// Check returns an error where it is not certain that a source means the same with and without
// a constant of a name behind it. options are the words of the build's options, files what the
// source includes.
func Check(source []byte, name string, options []string, files [][]byte) error {
	e := ending{words: make(map[string]bool)}
	if err := e.options(options, name); err != nil {
		return err
	}
	for _, f := range files {
		if err := e.scan(f, name); err != nil {
			return fmt.Errorf("%w in a header file", err)
		}
	}
	e.last, e.within = 0, 0
	if err := e.scan(source, name); err != nil {
		return err
	}
	switch {
	case e.within != 0:
		return errors.New("and the source ends within a condition")
	case e.last != ';' && e.last != '}':
		return errors.New("and the source does not end with a declaration")
	case e.pastes && madeOf(name, e.words):
		return errors.New("whose name may be pasted together")
	}
	return nil
}

// ending finds out how a source ends.
type ending struct {
	text    []byte
	i       int
	started bool // something but white space stood on the line
	depth   int  // of conditions
	last    byte // the last character of the code, 'a' for a word; 0: there is none
	within  int  // the depth there
	pastes  bool // tokens may be pasted together
	words   map[string]bool
}

// constantWords are the words of the constant: where one is a macro it means something else.
var constantWords = []string{"__constant", "int"}

// options looks at the words of options: only those that are known to be indifferent to what
// is not used pass.
func (e *ending) options(words []string, name string) error {
	before := ""
	for _, w := range words {
		if mentions([]byte(w), name) {
			return errors.New("which the options mention")
		}
		e.pastes = e.pastes || pastes([]byte(w))
		e.note([]byte(w))
		definition, defines := strings.CutPrefix(w, "-D")
		switch {
		case before == "-D":
			definition, defines = w, true
		case before == "-I", strings.HasPrefix(w, "-I"), w == "-w", w == "-Werror":
		case strings.HasPrefix(w, "-cl-") && w != "-cl-opt-disable" && !strings.Contains(w, "++"), defines:
		default:
			return fmt.Errorf("and the option %s is given", w)
		}
		if before = ""; w == "-D" || w == "-I" {
			before = w
		}
		macro, _, _ := strings.Cut(strings.TrimLeft(definition, "\"' \t"), "=")
		macro, _, _ = strings.Cut(macro, "(")
		if defines && (slices.Contains(constantWords, macro) || strings.ContainsAny(macro, "\\\"'\n")) {
			return fmt.Errorf("and the option -D%s is given", macro)
		}
	}
	return nil
}

// localPragmas are about a loop, a file, an extension, or arithmetic of floating point: they
// change nothing about an integer constant behind them. omp is skipped without -fopenmp, an
// option that is not among those that pass. Not here are those about any declaration, or about warnings.
var localPragmas = []string{
	"OPENCL", "STDC", "clang fp", "clang loop", "ivdep", "nounroll", "omp", "once", "unroll",
}

// doubtful is of what compilers make different things, or what is not looked into here.
var doubtful = []string{"??=", "??/", "%:", "\x00", `R"`, "_Pragma", "\r"}

// scan goes through a source or a header file, which must end outside of comments, literals and
// conditions, and must not give the words of the constant another meaning.
func (e *ending) scan(text []byte, name string) error {
	if mentions(text, name) {
		return errors.New("which the source mentions elsewhere")
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	e.text, e.i, e.started, e.depth = bytes.ReplaceAll(text, []byte("\\\n"), nil), 0, false, 0
	for _, what := range doubtful {
		if bytes.Contains(e.text, []byte(what)) {
			return fmt.Errorf("and the source has %q", what)
		}
	}
	for line := range bytes.Lines(e.text) { // where blanks follow, it may go on in the next line
		if bytes.HasSuffix(bytes.TrimRight(line, " \t\f\v\n"), []byte(`\`)) {
			return fmt.Errorf("and the source has %q", `\`)
		}
	}
	e.pastes = e.pastes || pastes(e.text)
	for e.i < len(e.text) {
		if err := e.token(); err != nil {
			return err
		}
	}
	if e.depth != 0 {
		return errors.New("and the source ends within a condition")
	}
	return nil
}

// token passes over one, or over a directive.
func (e *ending) token() error {
	rest := e.text[e.i:]
	switch c := rest[0]; {
	case c == '\n':
		e.started = false
		e.i++
	case c == ' ' || c == '\t' || c == '\f' || c == '\v':
		e.i++
	case bytes.HasPrefix(rest, []byte("//")):
		e.i += len(lineOf(rest))
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return errors.New("and the source ends within a comment")
		}
		e.i += 2 + n + 2
	case c == '#' && !e.started:
		line := lineOf(rest)
		e.i += len(line)
		return e.directive(line[1:])
	case c == '"' || c == '\'':
		n := literal(rest)
		if n == 0 {
			return errors.New("and the source has an open literal")
		}
		e.is('"')
		e.i += n
	case isWord(c):
		n := 1
		for n < len(rest) && isWord(rest[n]) {
			n++
		}
		e.note(rest[:n])
		e.is('a')
		e.i += n
	default:
		e.is(c)
		e.i++
	}
	return nil
}

func (e *ending) is(c byte) { e.started, e.last, e.within = true, c, e.depth }

// directive looks at a line behind its #.
func (e *ending) directive(line []byte) error {
	e.note(line)
	if i := bytes.LastIndex(line, []byte("/*")); i >= 0 && !bytes.Contains(line[i:], []byte("*/")) {
		return errors.New("and the source has a comment that goes on behind a directive")
	}
	words := strings.FieldsFunc(string(line), func(r rune) bool { return r > 127 || !isWord(byte(r)) })
	word := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch name := word(0); name {
	case "if", "ifdef", "ifndef":
		e.depth++
	case "endif":
		e.depth--
	case "else", "elif", "undef", "error", "warning", "line", "":
	case "define":
		if slices.Contains(constantWords, word(1)) {
			return fmt.Errorf("and the source defines %s", word(1))
		}
	case "pragma":
		if w := word(1); !slices.Contains(localPragmas, w) && !slices.Contains(localPragmas, w+" "+word(2)) {
			return fmt.Errorf("and the source has a pragma %s", w)
		}
	case "include":
		e.last = '#' // the file may end with anything
	default:
		return fmt.Errorf("and the source has #%s", name)
	}
	return nil
}

// note notes the words of a text.
func (e *ending) note(text []byte) {
	for _, w := range bytes.FieldsFunc(text, func(r rune) bool { return r > 127 || !isWord(byte(r)) }) {
		if len(w) <= len(stem)+hexDigits {
			e.words[string(w)] = true
		}
	}
}

// mentions reports whether text has the name, or a part of it that is no other's, in it.
func mentions(text []byte, name string) bool {
	return bytes.Contains(text, []byte(stem)) || bytes.Contains(text, []byte(name[len(stem):]))
}

func pastes(text []byte) bool { return bytes.Contains(text, []byte("##")) }

// madeOf reports whether name is a sequence of words.
func madeOf(name string, words map[string]bool) bool {
	made := make([]bool, len(name)+1) // up to here
	made[0] = true
	for end := 1; end <= len(name); end++ {
		for start := range end {
			made[end] = made[end] || made[start] && words[name[start:end]]
		}
	}
	return made[len(name)]
}

// literal returns the length of the literal that text begins with; 0 where it does not end on
// its line.
func literal(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return 0
		case text[0]:
			return i + 1
		}
	}
	return 0
}

func lineOf(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return line
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
