// Package macro expands macros that may have several definitions.
package macro

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/names"
)

// Macro is one definition of a macro.
type Macro struct {
	Text []byte // logical text, in which the definition begins at
	At   int    // behind the name
	End  int    // of the directive

	parsed   bool
	Call     bool // it takes arguments
	params   []string
	variadic bool // the last parameter takes all further arguments
	Body     []Token
	Bad      bool // no compiler takes it, or not all read it alike
}

// Name returns the name of a macro of the options.
func (m *Macro) Name() string { return string(m.Text[:m.At]) }

// Definition returns the text behind the name.
func (m *Macro) Definition() []byte { return m.Text[m.At:m.End] }

// Parse reads the definition, once it is needed.
func (m *Macro) Parse() {
	if m.parsed {
		return
	}
	m.parsed = true
	m.Call = m.At < len(m.Text) && m.Text[m.At] == '('
	m.Body = Lex(m.Text, m.At)
	if m.Call {
		m.parameters()
	}
	for _, t := range m.Body {
		if t.Kind == odd || t.Text == "__VA_OPT__" {
			m.Bad = true
		}
	}
}

// parameters takes "(a, b, ...)" from the front of the body.
func (m *Macro) parameters() {
	m.Bad = true
	for i := 1; i < len(m.Body); i++ {
		switch t := m.Body[i]; {
		case t.Is(")"):
			m.Body, m.Bad = m.Body[i+1:], false
			return
		case t.Is(","):
		case t.Kind == Identifier && !m.variadic:
			m.params = append(m.params, t.Text)
		case t.Is(".") && i+2 < len(m.Body) && m.Body[i+1].Is(".") && m.Body[i+2].Is(".") && !m.variadic:
			if m.variadic = true; m.Body[i-1].Kind != Identifier {
				m.params = append(m.params, "__VA_ARGS__")
			}
			i += 2
		default:
			return
		}
	}
}

func (m *Macro) param(t Token) int {
	if t.Kind != Identifier {
		return -1
	}
	return slices.Index(m.params, t.Text)
}

// Table holds every definition that a macro may have where it is used.
type Table struct {
	all map[string]name
	// Blind says that the macros of the options are not known.
	Blind bool
	Given []*Macro // of the options, whose text begins with the name
	Left  int      // work that may still be done, to expand above all, in tokens
}

// name is what is known of one.
type name struct {
	defs []*Macro
	// free says that it may also be undefined where it is used, as all that a
	// source defines, since that may come later or be skipped.
	free bool
}

// Spend takes some of the work that may be done for one unit.
func (n *Table) Spend(work int) error {
	if n.Left -= work; n.Left < 0 {
		return errLong
	}
	return nil
}

// NewTable returns one that knows no macro.
func NewTable() *Table { return &Table{all: make(map[string]name), Left: maxWork} }

// Defs returns the definitions of a name.
func (n *Table) Defs(s string) []*Macro { return n.all[s].defs }

// Define adds a definition of a source, which may come later than a use or be skipped.
func (n *Table) Define(s string, m *Macro) { n.all[s] = name{append(n.all[s].defs, m), true} }

// Undefine notes that a source undefines a name.
func (n *Table) Undefine(s string) { n.all[s] = name{n.all[s].defs, true} }

// Options takes the macros that the words of options define. Where these are not known they
// stand for any text.
func (n *Table) Options(words []string) {
	list, sure := flags.Macros(words)
	n.Blind = n.Blind || !sure
	for _, m := range list {
		if m.Undefine {
			n.Undefine(m.Text)
		} else {
			n.option(m.Text)
		}
	}
}

// option takes NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE.
func (n *Table) option(d string) {
	head, value, ok := strings.Cut(d, "=")
	if !ok {
		value = "1"
	}
	s, _, _ := strings.Cut(head, "(")
	m := &Macro{Text: []byte(head + " " + value + "\n"), At: len(s)}
	m.End = len(m.Text)
	n.Given = append(n.Given, m)
	// "//" is no comment where the compiler takes the value apart itself.
	doubted := func(text string) bool { return strings.Contains(d, text) }
	if strings.ContainsAny(d, "\"'\\\n\r\t") || slices.ContainsFunc([]string{"/*", "??", "//"}, doubted) {
		m.parsed, m.Bad = true, true
	}
	known := n.all[s]
	// The compiler's own may come behind it.
	n.all[s] = name{append(known.defs, m), known.free || names.Compilers(s)}
}

// choices returns in how many ways name may be defined; the last may be that it is not.
func (n *Table) choices(name string) int {
	known := n.all[name]
	c := len(known.defs)
	if c > 0 && known.free {
		c++
	}
	return c
}

// unsure reports whether a name that is not defined by a source or an option, as
// far as is known, may be defined by the compiler.
func (n *Table) unsure(name string) bool {
	if len(n.Defs(name)) > 0 {
		return names.Compilers(name)
	}
	return names.Predefined(name)
}
