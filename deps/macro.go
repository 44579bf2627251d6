package deps

import (
	"slices"
	"strings"
)

// macro is one definition of a macro.
type macro struct {
	text []byte // logical text, in which the definition begins at
	at   int    // behind the name
	end  int    // of the directive

	parsed   bool
	call     bool // it takes arguments
	params   []string
	variadic bool // the last parameter takes all further arguments
	body     []token
	bad      bool // no compiler takes it, or not all read it alike
}

// parse reads the definition, once it is needed.
func (m *macro) parse() {
	if m.parsed {
		return
	}
	m.parsed = true
	m.call = m.at < len(m.text) && m.text[m.at] == '('
	m.body = lex(m.text, m.at)
	if m.call {
		m.parameters()
	}
	for _, t := range m.body {
		if t.kind == odd || t.text == "__VA_OPT__" {
			m.bad = true
		}
	}
}

// parameters takes "(a, b, ...)" from the front of the body.
func (m *macro) parameters() {
	m.bad = true
	for i := 1; i < len(m.body); i++ {
		switch t := m.body[i]; {
		case t.is(")"):
			m.body, m.bad = m.body[i+1:], false
			return
		case t.is(","):
		case t.kind == identifier && !m.variadic:
			m.params = append(m.params, t.text)
		case t.is(".") && i+2 < len(m.body) && m.body[i+1].is(".") && m.body[i+2].is(".") && !m.variadic:
			if m.variadic = true; m.body[i-1].kind != identifier {
				m.params = append(m.params, "__VA_ARGS__")
			}
			i += 2
		default:
			return
		}
	}
}

func (m *macro) param(t token) int {
	if t.kind != identifier {
		return -1
	}
	return slices.Index(m.params, t.text)
}

// names holds every definition that a macro may have where it is used.
type names struct {
	all map[string]*name
	// blind says that the macros of the options are not known.
	blind bool
	given []*macro // of the options, whose text begins with the name
	left  int      // work that may still be done, to expand above all, in tokens
}

// name is what is known of one.
type name struct {
	defs []*macro
	// free says that it may also be undefined where it is used, as all that a
	// source defines, since that may come later or be skipped.
	free bool
}

// spend takes some of the work that may be done for one unit.
func (n *names) spend(work int) error {
	if n.left -= work; n.left < 0 {
		return errLong
	}
	return nil
}

func newNames() *names {
	return &names{all: make(map[string]*name), left: maxWork}
}

// of returns what is known of a name, to be added to.
func (n *names) of(s string) *name {
	known := n.all[s]
	if known == nil {
		known = new(name)
		n.all[s] = known
	}
	return known
}

// defs returns the definitions of a name.
func (n *names) defs(s string) []*macro {
	if known := n.all[s]; known != nil {
		return known.defs
	}
	return nil
}

func (n *name) define(m *macro) { n.defs = append(n.defs, m) }

// options takes the macros that the words of options define. What is quoted is
// read differently by drivers, so it stands for any text.
func (n *names) options(words []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !settled(w) || quoted(w) {
			n.blind = true
			continue
		}
		rest, ok := "", false
		for _, o := range macroOptions {
			if rest, ok = strings.CutPrefix(w, o); ok {
				w = o
				break
			}
		}
		if !ok {
			continue
		}
		if strings.HasPrefix(w, "-d") || strings.HasPrefix(w, "--") {
			rest = strings.TrimPrefix(rest, "=")
		}
		if rest == "" && i+1 < len(words) {
			i++
			rest = words[i]
			n.blind = n.blind || !settled(rest) || strings.ContainsAny(macroName(rest), quotes)
		}
		if strings.HasSuffix(w, "U") || strings.HasPrefix(w, "--un") {
			n.of(rest).free = true
			continue
		}
		n.option(rest)
	}
}

// macroOptions are the options that define a macro, or undefine it.
var macroOptions = []string{"--define-macro", "-define-macro", "--undefine-macro", "-D", "-U"}

const quotes = "\"'\\"

// quoted says whether w defines or undefines a macro whose name only those
// drivers see that take quotes away.
func quoted(w string) bool {
	return strings.ContainsAny(macroName(w), quotes) && startsSo(unquoted(w), macroOptions)
}

// macroName returns what stands before a macro's value.
func macroName(d string) string {
	name, _, _ := strings.Cut(d, "=")
	return name
}

// option takes NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE.
func (n *names) option(d string) {
	head, value, ok := strings.Cut(d, "=")
	if !ok {
		value = "1"
	}
	name := head
	if i := strings.IndexByte(head, '('); i >= 0 {
		name = head[:i]
	}
	m := &macro{text: []byte(head + " " + value + "\n"), at: len(name)}
	m.end = len(m.text)
	n.given = append(n.given, m)
	if strings.ContainsAny(d, "\"'\\\n\r\t") || strings.Contains(d, "/*") || strings.Contains(d, "??") {
		m.parsed, m.bad = true, true
	}
	if strings.Contains(d, "//") {
		// No comment where the compiler takes the value apart itself.
		m.parsed, m.bad = true, true
	}
	known := n.of(name)
	known.define(m)
	if compilers(name) {
		known.free = true // the compiler's own may come behind it
	}
}

// choices returns in how many ways name may be defined; of these, the last may
// be that it is not.
func (n *names) choices(name string) int {
	known := n.all[name]
	if known == nil {
		return 0
	}
	c := len(known.defs)
	if c > 0 && known.free {
		c++
	}
	return c
}

// unsure says whether a name that is not defined by a source or an option, as
// far as is known, may be defined by the compiler.
func (n *names) unsure(name string) bool {
	if len(n.defs(name)) > 0 {
		return compilers(name)
	}
	return predefined(name)
}
