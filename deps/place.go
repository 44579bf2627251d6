package deps

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// The attributes of a request that say in which directory the main source is said to be, and
// where that directory is, if its own name is random. Of CUDA C++ that reads files the [Placing]
// says which of them are in a key; else they are, as all attributes.
const (
	SourceDirectory = "source directory"
	SourceParent    = "source parent"
)

// Placing says how what is built of a unit may depend on the directory in which its main
// source is said to be, beyond the files that are looked for there. It is of CUDA C++:
// other compilers are not told one. Of several units the greatest counts.
type Placing uint8

// The ways to depend on the directory.
const (
	Unplaced Placing = iota // it does not
	Called                  // only by code of a header file that gives its caller's path, as a default argument does
	Placed                  // in any way
)

// calling are the names of paths that give their caller's: in a default argument of a
// header file they give the main source's, as __BASE_FILE__ does anywhere.
var calling = []string{"__BASE_FILE__", "__builtin_FILE", "__builtin_FILE_NAME", "__builtin_source_location", "source_location"}

// ReadsBeside reports whether the main source of a unit may look for a file beside
// itself: whether it has an #include "…", or one that is computed, or asks for one.
func ReadsBeside(u key.Unit) bool {
	given := make(map[string]bool, len(u.Headers))
	for _, h := range u.Headers {
		given[h.Name] = true
	}
	var t traces
	t.of(u.Kind, nil)
	found := scan(u.Code, &t)
	return found.asks || slices.ContainsFunc(found.lines, func(l line) bool {
		return l.kind == condition || l.form == 0 || l.next || l.form == '"' && !given[l.name]
	})
}

// PlacingOf returns the placing of a unit that reads no files. words are the compile
// options. See [Tracking.Placing] for units that read files.
func PlacingOf(u key.Unit, words []string) Placing {
	t := newTracker(osSystem, u, words, Search{})
	t.names.options(words)
	t.traces.options(words)
	main := &node{place: place{at: nowhere}, src: scan(u.Code, &t.traces)}
	t.add(main)
	for _, h := range u.Headers {
		t.add(&node{place: place{path: h.Name}, file: new(file), src: scan(h.Content, &t.traces)})
	}
	return t.placing()
}

// placing returns how what is built may depend on the directory of the main source. In
// doubt it does.
func (t *tracker) placing() Placing {
	switch {
	case t.placesMain():
		return Placed
	case t.placesCaller():
		return Called
	}
	return Unplaced
}

// placesMain reports whether the main source names a path, by a name in it, whole or made
// by a macro. In doubt it does.
func (t *tracker) placesMain() bool {
	if t.names.blind {
		return true
	}
	seen, pastes := make(map[string]bool), false
	var next []string
	meet := func(name string) {
		if !seen[name] {
			seen[name] = true
			next = append(next, name)
		}
	}
	for name := range identifiers(t.order[0].src.text) {
		meet(name)
	}
	for ; len(next) > 0; next = next[1:] {
		name := next[0]
		if slices.Contains(pathNames.get(), name) || isPathPiece(name) {
			return true
		}
		for _, m := range t.names.defs(name) {
			if m.parse(); m.bad {
				return true
			}
			for _, tok := range m.body {
				pastes = pastes || tok.text == "##"
				if tok.kind == identifier {
					meet(tok.text)
				}
			}
		}
	}
	return pastes && t.pastesPlace(seen)
}

// searchedAtOnce is how many bytes are searched for a name as fast as a token is looked at.
const searchedAtOnce = 1 << 8

// pastesPlace reports whether names that are met can be pasted to one of a path, or to that
// of a macro that leads to one. In doubt, or where it is too much work to tell, they can.
func (t *tracker) pastesPlace(met map[string]bool) bool {
	leads, look := make(map[string]bool), slices.Clone(pathNames.get())
	for ; len(look) > 0; look = look[1:] {
		name := look[0]
		if leads[name] {
			continue
		}
		if leads[name] = true; len(leads) > maxAsking || covered(name, met) {
			return true
		}
		for macro, known := range t.names.all {
			for _, m := range known.defs {
				body := m.text[m.at:m.end]
				if t.names.spend(1+len(body)/searchedAtOnce) != nil {
					return true
				}
				if bytes.Contains(body, []byte(name)) {
					look = append(look, macro)
				}
			}
		}
	}
	return false
}

// covered reports whether a name is a sequence of two to fewPieces names that are met, or
// numbers.
func covered(name string, met map[string]bool) bool {
	need := make([]int, len(name)+1) // pieces for the name up to here; 0: impossible
	for end := 1; end <= len(name); end++ {
		for start := range end {
			piece := name[start:end]
			if start > 0 && need[start] == 0 || len(piece) == len(name) || !met[piece] && strings.Trim(piece, "0123456789") != "" {
				continue
			}
			if n := need[start] + 1; need[end] == 0 || n < need[end] {
				need[end] = n
			}
		}
	}
	n := need[len(name)]
	return n > 0 && n <= fewPieces
}

// identifiers yields the names in a text, those in comments and literals among them.
func identifiers(text []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range rawIdentifiers(text) {
			if !yield(string(name)) {
				return
			}
		}
	}
}

// rawIdentifiers yields the same as parts of the text.
func rawIdentifiers(text []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := 0; i < len(text); {
			if !isWord(text[i]) {
				i++
				continue
			}
			from := i
			for i < len(text) && isWord(text[i]) {
				i++
			}
			if isLetter(text[from]) && !yield(text[from:i]) {
				return
			}
		}
	}
}

// placesCaller reports whether a header file names one of calling in its code, by itself
// or by a macro, of a source or of the options. In doubt, or where it is too much work to
// tell, it does.
func (t *tracker) placesCaller() bool {
	for _, w := range t.words {
		// Any header file may use the macro.
		if w = unquoted(w); slices.ContainsFunc(calling, func(name string) bool { return strings.Contains(w, name) }) {
			return true
		}
	}
	if !slices.ContainsFunc(calling, func(name string) bool { return t.traces.pieces[name] }) {
		return t.traces.pastes && slices.ContainsFunc(calling, func(name string) bool { return covered(name, t.traces.pieces) })
	}
	watch, ok := t.callingMacros()
	return !ok || slices.ContainsFunc(t.order[1:], func(n *node) bool { return n.src.uses(watch, &t.traces) != "" }) ||
		t.traces.pastes && t.pastesAny(watch)
}

// pastesAny reports whether one of names can be pasted of other names, in any source or in
// the macros of the options. It does so too where that is too much work to tell.
func (t *tracker) pastesAny(names map[string]bool) bool {
	all := strings.Join(slices.Collect(maps.Keys(names)), " ")
	var pairs couples // most names have none of them
	for i := range len(all) - 1 {
		pairs.add(all[i], all[i+1])
	}
	met := make(map[string]bool)
	meet := func(text []byte) (ok bool) {
		for name := range rawIdentifiers(text) {
			if len(name) > 1 && !pairs.has(name[0], name[1]) {
				continue
			}
			if !names[string(name)] && strings.Contains(all, string(name)) {
				met[string(name)] = true
			}
		}
		return t.names.spend(1+len(text)/searchedAtOnce) == nil
	}
	for _, m := range t.names.given {
		if !meet(m.text[m.at:]) {
			return true
		}
	}
	for _, n := range t.order {
		if !meet(n.src.text) {
			return true
		}
	}
	for name := range names {
		if covered(name, met) {
			return true
		}
	}
	return false
}

// callingMacros returns calling and the macros that lead to one of them; ok is false where
// they are too many, or too much work to find.
func (t *tracker) callingMacros() (found map[string]bool, ok bool) {
	found = make(map[string]bool)
	for look := slices.Clone(calling); len(look) > 0; look = look[1:] {
		name := look[0]
		if found[name] {
			continue
		}
		if found[name] = true; len(found) > maxAsking {
			return nil, false
		}
		for _, m := range t.names.given {
			if bytes.Contains(m.text[m.at:], []byte(name)) {
				look = append(look, string(m.text[:m.at]))
			}
		}
		for _, n := range t.order {
			if t.names.spend(1+len(n.src.text)/searchedAtOnce) != nil {
				return nil, false
			}
			if !bytes.Contains(n.src.text, []byte(name)) {
				continue
			}
			if t.names.spend(len(n.src.macros)) != nil {
				return nil, false
			}
			for _, d := range n.src.macros {
				if bytes.Contains(n.src.text[d.at:d.end], []byte(name)) {
					look = append(look, d.name)
				}
			}
		}
	}
	return found, true
}

// Includes returns the names that the includes of a source have, without delimiters;
// sure is false where it may include, or ask for, others.
func Includes(kind key.Kind, src []byte) (names []string, sure bool) {
	var t traces
	t.of(kind, nil)
	found := scan(src, &t)
	if found.asks || !found.reason.None() || t.pastes && t.makes(forbidden.get(), fewPieces) != "" {
		return nil, false
	}
	for _, l := range found.lines {
		if l.kind != include || l.form == 0 || l.next {
			return nil, false
		}
		names = append(names, l.name)
	}
	return names, true
}
