package deps

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	hasInclude = "__has_include"
	maxAsking  = 100 // macros that may ask for files

	// macrosInTime is how many macros there are between two looks at the clock.
	macrosInTime = 1 << 10
)

// findAsking finds the macros that may ask for files: those that have
// __has_include in them, and those, of the options too, that have one of these in them.
func (t *tracker) findAsking() error {
	t.asking = make(map[string]bool)
	if !slices.ContainsFunc(t.order, func(n *node) bool { return n.src.asks }) {
		return nil
	}
	for look := []string{hasInclude}; len(look) > 0; look = look[1:] {
		for _, m := range t.names.given {
			if name := string(m.text[:m.at]); !t.asking[name] && bytes.Contains(m.text[m.at:], []byte(look[0])) {
				t.asking[name] = true
				look = append(look, name)
			}
		}
		for _, n := range t.order {
			if err := t.names.spend(len(n.src.macros)/4 + 1); err != nil {
				return err
			}
			for i, d := range n.src.macros {
				if i%macrosInTime == 0 {
					if err := t.disk.inTime(); err != nil {
						return err
					}
				}
				if !t.asking[d.name] && bytes.Contains(n.src.text[d.at:d.end], []byte(look[0])) {
					t.asking[d.name] = true
					look = append(look, d.name)
				}
			}
		}
		if len(t.asking) > maxAsking {
			return errWays
		}
	}
	return nil
}

// questions returns the names that the macros in a condition ask for.
func (t *tracker) questions(n *node, l line) ([]wanted, error) {
	if err := t.names.spend(len(t.asking)); err != nil {
		return nil, err
	}
	if !n.asks || !t.mayAsk(n.src.text[l.at:l.end]) {
		return nil, nil
	}
	list := lex(n.src.text, l.at)
	found := make(map[wanted]bool)
	for i, tok := range list {
		if tok.kind != identifier || !t.asking[tok.text] || followsDefined(list[:i]) {
			continue
		}
		use := call(list[i:])
		if len(use) == 1 && slices.ContainsFunc(t.names.defs(tok.text), func(m *macro) bool { m.parse(); return m.call }) {
			return nil, fmt.Errorf("a condition with %s: %w", tok.text, errUnknown)
		}
		err := t.names.expandAll(use, func(out []token) error { return asked(out, found) })
		if err != nil {
			return nil, fmt.Errorf("a condition with %s: %w", tok.text, err)
		}
	}
	for w := range found {
		if w.next && !n.src.follows {
			return nil, fmt.Errorf("__has_include_next %s in a macro", w)
		}
	}
	return sortWanted(found)
}

// mayAsk says whether a macro that asks for files is named in text.
func (t *tracker) mayAsk(text []byte) bool {
	for name := range t.asking {
		if contains(text, name) {
			return true
		}
	}
	return false
}

// call returns the name at the front of list with its arguments.
func call(list []token) []token {
	depth := 0
	for i, t := range list[1:] {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
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

func followsDefined(list []token) bool {
	if n := len(list); n > 0 && list[n-1].is("(") {
		list = list[:n-1]
	}
	n := len(list)
	return n > 0 && list[n-1].text == "defined"
}

// asked collects what expanded tokens ask for.
func asked(list []token, found map[wanted]bool) error {
	for i, t := range list {
		if t.kind != identifier || !strings.HasPrefix(t.text, hasInclude) || followsDefined(list[:i]) {
			continue
		}
		if i+1 == len(list) || !list[i+1].is("(") {
			return errUnknown
		}
		form, name, left, err := headerName(list[i+2:])
		if err != nil {
			return errUnknown
		}
		if len(left) == 0 || !left[0].is(")") {
			return errUnknown
		}
		found[wanted{form, name, strings.HasPrefix(t.text, hasInclude+"_next")}] = true
	}
	return nil
}

// askedInCode refuses a macro that asks for files and stands in code: old
// compilers let it.
func (t *tracker) askedInCode() error {
	if len(t.asking) == 0 {
		return nil
	}
	return t.each(t.order, func(n *node) error {
		if !n.asks {
			return nil
		}
		if name := n.src.uses(t.asking, &t.traces); name != "" {
			return fmt.Errorf("%s, which asks for files, in code", name)
		}
		return nil
	})
}

// askedByPasting refuses a macro that asks for files whose name can be pasted: a condition
// that does so does not show it.
func (t *tracker) askedByPasting() error {
	if len(t.asking) > 0 && t.traces.pastes && t.pastesAny(t.asking) {
		return errors.New("a macro that asks for files, whose name may be pasted")
	}
	return nil
}

// uses returns a name of watch that stands in the code, or what makes that unsure; "" for
// neither. t is of the kind that the source was scanned as.
func (s *source) uses(watch map[string]bool, t *traces) string {
	again := scanner{
		text: s.text, joined: s.joined, traces: &traces{ptx: t.ptx, raw: t.raw},
		found: new(source), watch: watch,
	}
	again.scan()
	return cmp.Or(again.watched, again.found.reason.Detail)
}

// findNaming finds the sources that name a macro that asks for files. With more sources
// these macros do not become fewer, so as many are the same ones.
func (t *tracker) findNaming() error {
	return t.each(t.order, func(n *node) error {
		if n.asked != len(t.asking) {
			n.asked, n.asks = len(t.asking), t.mayAsk(n.src.text)
		}
		return nil
	})
}

// each calls look for each node of a list.
func (t *tracker) each(list []*node, look func(*node) error) error {
	for _, n := range list {
		if err := t.disk.inTime(); err != nil {
			return err
		}
		if err := look(n); err != nil {
			return err
		}
	}
	return nil
}
