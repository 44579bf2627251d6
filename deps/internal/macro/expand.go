package macro

import (
	"errors"
	"strings"
)

// Bounds of what is expanded.
const (
	maxWays = 256     // combinations of definitions, for each line
	maxHide = 200     // macros within macros
	maxOnce = 1 << 18 // tokens that are looked at or moved, for one expansion
	maxWork = 1 << 22 // likewise, for a unit; below a second
)

// The errors of what is not expanded.
var (
	ErrUnknown = errors.New("macros that cannot be expanded here")
	ErrWays    = errors.New("macros that may be defined in too many ways")
	errLong    = errors.New("macros that expand to too much")
	errInvalid = errors.New("what no compiler takes") // it refuses the build
)

// ExpandAll calls visit with what tokens expand to, once for each combination
// of the definitions that the macros in it may have. A combination that no
// compiler takes is left out: with it there is no build.
func (n *Table) ExpandAll(list []Token, visit func([]Token) error) error {
	if n.Blind {
		return ErrUnknown
	}
	x := expander{table: n}
	for range maxWays {
		x.chosen, x.step, x.left = make(map[string]int), 0, maxOnce
		out, err := x.expand(list)
		if err == nil {
			err = visit(out)
		}
		if err != nil && !errors.Is(err, errInvalid) {
			return err
		}
		if !x.next() {
			return nil
		}
	}
	return ErrWays
}

// expander expands with one choice of definitions.
type expander struct {
	table  *Table
	chosen map[string]int // of each name met, the definition that is in force
	path   []choice       // the choices in the order in which they were met
	step   int            // how many of them this expansion has met
	left   int            // work that may still be done for it
}

type choice struct{ is, of int }

// next makes the choices of the next combination; false after the last.
func (x *expander) next() bool {
	x.path = x.path[:x.step]
	for len(x.path) > 0 {
		last := &x.path[len(x.path)-1]
		if last.is++; last.is < last.of {
			return true
		}
		x.path = x.path[:len(x.path)-1]
	}
	return false
}

func (x *expander) spend(work int) error {
	if x.left -= work; x.left < 0 {
		return errLong
	}
	return x.table.Spend(work)
}

// definition returns the one in force, or nil.
func (x *expander) definition(name string) (*Macro, error) {
	of := x.table.choices(name)
	if of == 0 {
		return nil, nil
	}
	is, ok := x.chosen[name]
	if !ok {
		if of > 1 {
			if x.step == len(x.path) {
				x.path = append(x.path, choice{0, of})
			}
			is = x.path[x.step].is
			x.step++
		}
		x.chosen[name] = is
	}
	if is == len(x.table.Defs(name)) {
		return nil, nil
	}
	m := x.table.Defs(name)[is]
	if m.Parse(); m.Bad {
		return nil, ErrUnknown
	}
	return m, nil
}

func (x *expander) expand(in []Token) ([]Token, error) {
	var out []Token
	for len(in) > 0 {
		if err := x.spend(1); err != nil {
			return nil, err
		}
		t := in[0]
		in = in[1:]
		if t.Kind != Identifier || t.hide.has(t.Text) {
			out = append(out, t)
			continue
		}
		m, err := x.definition(t.Text)
		if err != nil {
			return nil, err
		}
		if m == nil {
			t.unsure = t.unsure || x.table.unsure(t.Text)
		}
		if m == nil || m.Call && (len(in) == 0 || !in[0].Is("(")) {
			out = append(out, t)
			continue
		}
		var args [][]Token
		hidden := t.hide
		if m.Call {
			var end int
			if args, end = arguments(in, m); end < 0 {
				return nil, errInvalid
			}
			hidden = hidden.and(in[end].hide)
			in = in[end+1:]
		}
		body, err := x.substitute(m, args)
		if err != nil {
			return nil, err
		}
		if hidden = hidden.with(t.Text); len(hidden) > maxHide {
			return nil, errLong
		}
		for i := range body {
			body[i].hide = body[i].hide.with(hidden...)
			body[i].unsure = body[i].unsure || t.unsure
		}
		if len(body) > 0 {
			body[0].space = t.space
		} else if len(in) > 0 && t.space {
			in = append([]Token{}, in...)
			in[0].space = true
		}
		if err := x.spend(len(body) + len(in)); err != nil {
			return nil, err
		}
		in = append(body, in...)
	}
	return out, nil
}

// arguments takes the arguments of a call from in, which starts with the
// parenthesis; end is the index of the closing one, or -1.
func arguments(in []Token, m *Macro) (args [][]Token, end int) {
	depth, start := 0, 1
	for i, t := range in {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth > 0 {
				continue
			}
			args = append(args, in[start:i])
			if len(m.params) == 0 && len(args) == 1 && len(args[0]) == 0 {
				args = nil
			}
			if m.variadic && len(args) == len(m.params)-1 {
				args = append(args, nil)
			}
			if len(args) != len(m.params) {
				return nil, -1
			}
			return args, i
		case t.Is(",") && depth == 1 && (!m.variadic || len(args) < len(m.params)-1):
			args = append(args, in[start:i])
			start = i + 1
		}
	}
	return nil, -1
}

// substitute returns a new body of m with the arguments in their places.
func (x *expander) substitute(m *Macro, args [][]Token) ([]Token, error) {
	var out []Token
	joins := false // the next piece is joined to the last
	for i := 0; i < len(m.Body); i++ {
		t := m.Body[i]
		if t.Is("##") {
			if i == 0 || i == len(m.Body)-1 {
				return nil, errInvalid
			}
			joins = true
			continue
		}
		piece := []Token{t}
		pasted := joins || i+1 < len(m.Body) && m.Body[i+1].Is("##")
		p := m.param(t)
		switch {
		case m.Call && t.Is("#"):
			if i++; i == len(m.Body) {
				return nil, errInvalid
			}
			if p = m.param(m.Body[i]); p < 0 {
				return nil, errInvalid
			}
			piece = []Token{stringise(args[p], t.space)}
			pasted = joins || i+1 < len(m.Body) && m.Body[i+1].Is("##")
		case p >= 0 && pasted && m.variadic && p == len(m.params)-1:
			return nil, ErrUnknown // a comma may vanish
		case p >= 0 && pasted:
			piece = append([]Token{}, args[p]...)
		case p >= 0:
			var err error
			if piece, err = x.expand(args[p]); err != nil {
				return nil, err
			}
		}
		if p >= 0 && len(piece) > 0 {
			piece[0].space = t.space
		}
		if err := x.spend(len(piece)); err != nil {
			return nil, err
		}
		if joins && len(out) == 0 || pasted && len(piece) == 0 {
			// An empty operand: what stands next to it stays as it is. Whether
			// it is joined further is too rare to follow.
			return nil, ErrUnknown
		}
		if joins {
			glued, err := paste(out[len(out)-1], piece[0])
			if err != nil {
				return nil, err
			}
			out = append(append(out[:len(out)-1], glued), piece[1:]...)
		} else {
			out = append(out, piece...)
		}
		joins = false
	}
	return out, nil
}

// stringise returns the string literal of an argument as it was written.
func stringise(arg []Token, space bool) Token {
	var b strings.Builder
	b.WriteByte('"')
	t := Token{Kind: literal, space: space}
	for i, a := range arg {
		t.unsure = t.unsure || a.unsure
		if a.space && i > 0 {
			b.WriteByte(' ')
		}
		if a.Kind == literal {
			b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a.Text))
		} else {
			b.WriteString(a.Text)
		}
	}
	b.WriteByte('"')
	t.Text = b.String()
	return t
}

// paste joins two tokens to one.
func paste(a, b Token) (Token, error) {
	glued := Lex([]byte(a.Text+b.Text+"\n"), 0)
	if len(glued) != 1 || glued[0].Kind == odd {
		return Token{}, ErrUnknown
	}
	t := glued[0]
	t.space, t.unsure = a.space, a.unsure || b.unsure
	t.hide = a.hide.and(b.hide)
	return t, nil
}

// HeaderName reads a header's name from expanded tokens: a string, or what
// stands between angle brackets. left is what follows it.
func HeaderName(list []Token) (form byte, name string, left []Token, err error) {
	if len(list) == 0 {
		return 0, "", nil, errInvalid
	}
	switch first := list[0]; {
	case first.unsure:
		return 0, "", nil, ErrUnknown
	case first.Kind == literal && first.Text[0] == '"':
		form, name, left = '"', first.Text[1:len(first.Text)-1], list[1:]
	case first.Is("<"):
		for i, t := range list {
			if t.unsure || t.Kind == odd {
				return 0, "", nil, ErrUnknown
			}
			if t.Is(">") {
				inner := list[1:i]
				if len(inner) > 0 && inner[0].space || t.space {
					return 0, "", nil, ErrUnknown // compilers keep a blank there, or not
				}
				form, name, left = '<', Spell(inner), list[i+1:]
				break
			}
		}
	case first.Kind == odd:
		return 0, "", nil, ErrUnknown
	}
	if form == 0 || name == "" {
		return 0, "", nil, errInvalid
	}
	if len(left) > 0 && (left[0].Kind == literal || left[0].unsure) {
		return 0, "", nil, ErrUnknown // some join strings
	}
	return form, name, left, nil
}
