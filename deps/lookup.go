package deps

import (
	"fmt"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
)

// lookup finds what a name in a node leads to: one target, or two where the
// same file stands at two places of which a compiler may take either.
func (t *tracker) lookup(n *node, w wanted) ([]target, error) {
	found, err := t.search(n, w, n.at)
	if err != nil {
		return nil, err
	}
	switch {
	case n.main() && t.from.Main == "":
		return t.lookupMain(w, found)
	case !w.next || !n.beside:
		return t.targets(w, found)
	case t.unit.Kind == key.CUDACpp:
		return nil, fmt.Errorf("#include_next %s in a file that no searched directory led to", w)
	}
	// In a file that was found beside its includer some compilers go on where
	// that one was found (clang 15), others start again (GCC).
	again, err := t.search(n, w, nowhere)
	if err != nil {
		return nil, err
	}
	if !t.same(found, again) {
		return nil, fmt.Errorf("#include_next %s in a file that no searched directory led to", w)
	}
	return t.targets(w, found)
}

// lookupMain adds to what a name in the main source leads to what it may lead
// to as well, as it is not known where a compiler believes the source to be: in
// the working directory, perhaps.
func (t *tracker) lookupMain(w wanted, found place) ([]target, error) {
	if w.name[0] == '/' {
		return t.targets(w, found)
	}
	path, err := t.disk.Find(t.from.Dir, w.name)
	here := place{path: path, at: nowhere, beside: true}
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return t.targets(w, found)
	case found.path == "":
		return t.targets(w, here)
	case !t.same(found, here):
		return nil, fmt.Errorf("%s is in the working directory and elsewhere", w)
	}
	return t.targets(w, found, here)
}

// same says whether two places hold the same file, or none.
func (t *tracker) same(a, b place) bool {
	if a.path == "" || b.path == "" {
		return a.path == b.path
	}
	return t.disk.At(a.path).Stamp.Inode == t.disk.At(b.path).Stamp.Inode
}

// search goes through the directories for a name in a node that was found in
// the directory at. The path of the place is "" where there is no such file.
func (t *tracker) search(n *node, w wanted, at int) (place, error) {
	if w.name[0] == '/' {
		path, err := t.disk.Find("/", w.name[1:])
		return place{path: path, at: nowhere}, err
	}
	next := w.next && !n.main() && at != nowhere
	if home := t.home(n); home != "" && w.form == '"' && !next {
		if path, err := t.disk.Find(home, w.name); err != nil || path != "" {
			return place{path: path, at: n.at, beside: true}, err
		}
	}
	start := 0
	if w.form == '<' {
		start = t.quotes
	}
	if next {
		start = at + 1
	}
	for i := start; i < len(t.path); i++ {
		if path, err := t.disk.Find(t.path[i], w.name); err != nil || path != "" {
			return place{path: path, at: i}, err
		}
	}
	return place{at: nowhere}, nil
}

// home returns the directory in which a node's own #include "…" are looked for
// first; "" if it is not known.
func (t *tracker) home(n *node) string {
	if n.main() {
		return t.from.Main
	}
	return files.Parent(n.path)
}

// targets reads the files at places.
func (t *tracker) targets(w wanted, places ...place) ([]target, error) {
	list := make([]target, 0, len(places))
	for _, p := range places {
		if p.path == "" {
			list = append(list, target{name: w.String()})
			continue
		}
		f, err := t.headers.load(p.path, t.traces)
		if err != nil {
			return nil, err
		}
		if r := f.src.Reason; !r.None() {
			r.Detail = fmt.Sprintf("%s in %s", r.Detail, p.path)
			return nil, asError(r)
		}
		if !f.src.Follows && !f.src.Nests {
			p.at, p.beside = 0, false
		}
		m := t.nodes[p]
		if m == nil {
			if t.directives += f.src.Size(); t.directives > scan.MaxDirectives {
				return nil, files.ErrTooMuch
			}
			m = &node{place: p, file: f, src: f.src}
			t.add(m)
		}
		list = append(list, target{w.String(), m})
	}
	return list, nil
}
