package deps

import (
	"fmt"

	"github.com/kernstash/kernstash/key"
)

// lookup finds what a name in a node leads to: one target, or two where the
// same file stands at two places of which a compiler may take either.
func (t *tracker) lookup(n *node, w wanted) ([]target, error) {
	if w.name[0] == '/' {
		path, err := t.disk.find("/", w.name[1:])
		if err != nil {
			return nil, err
		}
		return t.targets(w, place{path, -1})
	}
	start := 0
	if w.form == '<' {
		start = t.quotes
	}
	next := w.next && !n.main()
	if next && n.at >= 0 {
		start = n.at + 1
	} else if next && t.unit.Kind == key.CUDACpp {
		return nil, fmt.Errorf("#include_next %s in a file that no searched directory led to", w)
	}
	if w.form == '"' && (!next || n.at < 0) {
		switch dir := t.home(n); {
		case dir == "":
		default:
			path, err := t.disk.find(dir, w.name)
			if err != nil {
				return nil, err
			}
			if path != "" {
				return t.targets(w, place{path, -1})
			}
		}
	}
	found := place{at: -1}
	for i := start; i < len(t.path); i++ {
		path, err := t.disk.find(t.path[i], w.name)
		if err != nil {
			return nil, err
		}
		if path != "" {
			found = place{path, i}
			break
		}
	}
	if !n.main() || t.search.Main != "" {
		return t.targets(w, found)
	}
	// Where the compiler believes the main source to be is not known; it may be
	// the working directory.
	path, err := t.disk.find(t.search.Dir, w.name)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return t.targets(w, found)
	case found.path == "":
		return t.targets(w, place{path, -1})
	case t.disk.at(path).stamp.inode != t.disk.at(found.path).stamp.inode:
		return nil, fmt.Errorf("%s is in the working directory and elsewhere", w)
	}
	return t.targets(w, found, place{path, -1})
}

// home returns the directory in which a node's own #include "…" are looked for
// first; "" if it is not known.
func (t *tracker) home(n *node) string {
	if n.main() {
		return t.search.Main
	}
	return parent(n.path)
}

// targets reads the files at places.
func (t *tracker) targets(w wanted, places ...place) ([]target, error) {
	list := make([]target, 0, len(places))
	for _, p := range places {
		if p.path == "" {
			list = append(list, target{name: w.String()})
			continue
		}
		f, err := t.disk.load(p.path, &t.traces)
		if err != nil {
			return nil, err
		}
		if r := f.src.reason; !r.None() {
			r.Detail = fmt.Sprintf("%s in %s", r.Detail, p.path)
			return nil, r.error()
		}
		if !f.src.follows {
			p.at = 0
		}
		m := t.nodes[p]
		if m == nil {
			m = &node{place: p, file: f, src: f.src}
			t.add(m)
		}
		list = append(list, target{w.String(), m})
	}
	return list, nil
}
