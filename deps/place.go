package deps

import (
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/macro"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// The attributes of a request that say in which directory the main source is said to be, and
// where that directory is, if its own name is random. Of CUDA C++ that reads files the [Placing]
// says which of them are in a key; else they are, as all attributes.
const (
	SourceDirectory = "source directory"
	SourceParent    = "source parent"

	// HeaderTimes is the attribute of a recipe whose code has the times of its header files in it.
	HeaderTimes = "header times"
)

// calling are the names of paths that give their caller's: in a default argument of a
// header file they give the main source's, as __BASE_FILE__ does anywhere.
var calling = []string{"__BASE_FILE__", "__builtin_FILE", "__builtin_FILE_NAME", "__builtin_source_location", "source_location"}

// ReadsBeside reports whether the main source of a unit may look for a file beside
// itself: whether it has an #include "…", or one that is computed, or asks for one.
func ReadsBeside(u key.Unit) bool {
	given := headerNames(u)
	found := scan.Scan(u.Code, scan.NewTraces(u.Kind, nil))
	return found.Asks || slices.ContainsFunc(found.Lines, func(l scan.Line) bool {
		return l.Kind == scan.Condition || l.Form == 0 || l.Next || l.Form == '"' && !given[l.Name]
	})
}

// PlacingOf returns the placing of a unit that reads no files. words are the compile
// options. See [manifest.Manifest.Placing] for units that read files.
func PlacingOf(u key.Unit, words []string) manifest.Placing {
	t := newTracker(files.OS, nil, u, words, Search{})
	t.macros.Options(words)
	t.traces.Options(words)
	t.addMain()
	for _, h := range u.Headers {
		t.add(&node{place: place{path: h.Name}, file: &file{src: scan.Scan(h.Content, t.traces)}})
	}
	return t.placing()
}

// placing returns how what is built may depend on the directory of the main source. In
// doubt it does.
func (t *tracker) placing() manifest.Placing {
	switch {
	case t.placesMain():
		return manifest.Placed
	case t.placesCaller():
		return manifest.Called
	}
	return manifest.Unplaced
}

// placesMain reports whether the main source names a path, by a name in it, whole or made
// by a macro. In doubt it does.
func (t *tracker) placesMain() bool {
	if t.macros.Blind {
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
	for name := range lexer.Identifiers(t.order[0].src.Text) {
		meet(string(name))
	}
	for ; len(next) > 0; next = next[1:] {
		name := next[0]
		if slices.Contains(names.PathNames, name) || names.IsPathPiece(name) {
			return true
		}
		for _, m := range t.macros.Defs(name) {
			if m.Parse(); m.Bad {
				return true
			}
			for _, tok := range m.Body {
				pastes = pastes || tok.Text == "##"
				if tok.Kind == macro.Identifier {
					meet(tok.Text)
				}
			}
		}
	}
	return pastes && t.pastesPlace(seen)
}

// pastesPlace reports whether names that are met can be pasted to one of a path, or to that
// of a macro that leads to one. In doubt, or where it is too much work to tell, they can.
func (t *tracker) pastesPlace(met map[string]bool) bool {
	leads, err := t.macrosWith(names.PathNames...)
	return err != nil || names.Pasted(append(slices.Collect(maps.Keys(leads)), names.PathNames...), met)
}

// placesCaller reports whether a header file names one of calling in its code, by itself
// or by a macro, of a source or of the options. In doubt, or where it is too much work to
// tell, it does.
func (t *tracker) placesCaller() bool {
	for _, w := range t.words {
		// Any header file may use the macro.
		if w = flags.Unquoted(w); slices.ContainsFunc(calling, func(name string) bool { return strings.Contains(w, name) }) {
			return true
		}
	}
	pieces := maps.Clone(t.traces.Pieces)
	for _, name := range calling {
		delete(pieces, name) // where it stands in code it is found below
	}
	if t.traces.Pastes && names.Pasted(calling, pieces) {
		return true
	}
	if len(pieces) == len(t.traces.Pieces) {
		return false
	}
	watch, err := t.macrosWith(calling...)
	if err != nil || t.pastesAny(watch) {
		return true
	}
	for _, name := range calling {
		watch[name] = true
	}
	name, err := t.uses(t.order[1:], watch)
	return err != nil || name != ""
}

// identifiersAtOnce is how many bytes are searched for identifiers as fast as a token is looked at.
const identifiersAtOnce = 1 << 8

// pastesAny reports whether one of names can be pasted of other names, in any source or in
// the macros of the options. It does so too where that is too much work to tell.
func (t *tracker) pastesAny(targets map[string]bool) bool {
	if !t.traces.Pastes || len(targets) == 0 {
		return false
	}
	list := slices.Collect(maps.Keys(targets))
	all := strings.Join(list, " ")
	var pairs lexer.Pairs // most targets have none of them
	for i := range len(all) - 1 {
		pairs.Add(all[i], all[i+1])
	}
	met := make(map[string]bool)
	meet := func(text []byte) (ok bool) {
		for name := range lexer.Identifiers(text) {
			if len(name) > 1 && !pairs.Has(name[0], name[1]) {
				continue
			}
			if !targets[string(name)] && strings.Contains(all, string(name)) {
				met[string(name)] = true
			}
		}
		return t.macros.Spend(1+len(text)/identifiersAtOnce) == nil
	}
	for _, m := range t.macros.Given {
		if !meet(m.Definition()) {
			return true
		}
	}
	for _, n := range t.order {
		if !meet(n.src.Text) {
			return true
		}
	}
	return names.Pasted(list, met)
}

// Includes returns the names that the includes of a source have, without delimiters;
// sure is false where it may include, or ask for, others.
func Includes(kind key.Kind, src []byte) (included []string, sure bool) {
	t := scan.NewTraces(kind, nil)
	found := scan.Scan(src, t)
	if found.Asks || !found.Reason.None() || t.Makes(names.Forbidden, names.FewPieces) != "" {
		return nil, false
	}
	for _, l := range found.Lines {
		if l.Kind != scan.Include || l.Form == 0 || l.Next {
			return nil, false
		}
		included = append(included, l.Name)
	}
	return included, true
}
