package deps

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/macro"
	"github.com/kernstash/kernstash/deps/internal/scan"
)

const (
	hasInclude = "__has_include"
	maxWith    = 100 // macros with a name in them

	// searchedAtOnce is how many bytes are searched for a name as fast as a token is looked at.
	searchedAtOnce = 1 << 12
)

// findAsking finds the macros that may ask for files, by __has_include or one another.
func (t *tracker) findAsking() (err error) {
	if slices.ContainsFunc(t.order, func(n *node) bool { return n.src.Asks }) {
		t.asking, err = t.macrosWith(hasInclude)
		t.askingSet = lexer.NewSet(t.asking)
	}
	return err
}

// macrosWith returns the macros, also of the options, that lead to one of these names.
func (t *tracker) macrosWith(words ...string) (map[string]bool, error) {
	found := make(map[string]bool)
	for look := slices.Clone(words); len(look) > 0; look = look[1:] {
		word := []byte(look[0])
		note := func(name string, definition []byte) {
			if !found[name] && bytes.Contains(definition, word) {
				found[name] = true
				look = append(look, name)
			}
		}
		for _, m := range t.macros.Given {
			note(m.Name(), m.Definition())
		}
		for _, n := range t.order {
			work := 1 + len(n.src.Text)/searchedAtOnce + len(n.src.Macros)/4
			if err := cmp.Or(t.macros.Spend(work), t.disk.InTime()); err != nil {
				return nil, err
			}
			for _, d := range n.src.Macros {
				note(d.Name, n.src.Text[d.At:d.End])
			}
		}
		if len(found) > maxWith {
			return nil, macro.ErrWays
		}
	}
	return found, nil
}

// questions returns the names that the macros in a condition ask for.
func (t *tracker) questions(n *node, l scan.Line) ([]wanted, error) {
	if err := t.macros.Spend(len(t.asking)); err != nil {
		return nil, err
	}
	if len(t.asking) == 0 || !t.askingSet.In(n.src.Text[l.At:l.End]) {
		return nil, nil
	}
	list := macro.Lex(n.src.Text, l.At)
	found := make(map[wanted]bool)
	for i, tok := range list {
		if tok.Kind != macro.Identifier || !t.asking[tok.Text] || followsDefined(list[:i]) {
			continue
		}
		use := call(list[i:])
		if len(use) == 1 && slices.ContainsFunc(t.macros.Defs(tok.Text), func(m *macro.Macro) bool { m.Parse(); return m.Call }) {
			return nil, fmt.Errorf("a condition with %s: %w", tok.Text, macro.ErrUnknown)
		}
		err := t.macros.ExpandAll(use, func(out []macro.Token) error { return asked(out, found) })
		if err != nil {
			return nil, fmt.Errorf("a condition with %s: %w", tok.Text, err)
		}
	}
	for w := range found {
		if w.next && !n.src.Follows {
			return nil, fmt.Errorf("__has_include_next %s in a macro", w)
		}
	}
	return sortWanted(found)
}

// call returns the name at the front of list with its arguments.
func call(list []macro.Token) []macro.Token {
	depth := 0
	for i, t := range list[1:] {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		if depth <= 0 {
			if i == 0 && depth == 0 {
				return list[:1]
			}
			return list[:i+2]
		}
	}
	return list
}

func followsDefined(list []macro.Token) bool {
	n := len(list)
	if n > 0 && list[n-1].Is("(") {
		n--
	}
	return n > 0 && list[n-1].Text == "defined"
}

// asked collects what expanded tokens ask for.
func asked(list []macro.Token, found map[wanted]bool) error {
	for i, t := range list {
		if t.Kind != macro.Identifier || !strings.HasPrefix(t.Text, hasInclude) || followsDefined(list[:i]) {
			continue
		}
		if i+1 == len(list) || !list[i+1].Is("(") {
			return macro.ErrUnknown
		}
		form, name, left, err := macro.HeaderName(list[i+2:])
		if err != nil || len(left) == 0 || !left[0].Is(")") {
			return macro.ErrUnknown
		}
		found[wanted{form, name, strings.HasPrefix(t.Text, hasInclude+"_next")}] = true
	}
	return nil
}

// uses returns a name of watch that stands in the code of a source in list; "" for none.
func (t *tracker) uses(list []*node, watch map[string]bool) (string, error) {
	set, names := lexer.NewSet(watch), strings.Join(slices.Sorted(maps.Keys(watch)), " ")
	for _, n := range list {
		if err := t.disk.InTime(); err != nil {
			return "", err
		}
		if n.has(set, names) {
			if name := n.src.Uses(watch, t.traces); name != "" {
				return name, nil
			}
		}
	}
	return "", nil
}

// askedInCode refuses a macro that asks for files and stands in code, as old compilers let
// it, or whose name can be pasted: a condition that does so does not show it.
func (t *tracker) askedInCode() error {
	if len(t.asking) == 0 {
		return nil
	}
	name, err := t.uses(t.order, t.asking)
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("%s, which asks for files, in code", name)
	}
	if t.pastesAny(t.asking) {
		return errors.New("a macro that asks for files, whose name may be pasted")
	}
	return nil
}
