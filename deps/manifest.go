package deps

import (
	"cmp"
	"slices"

	"github.com/kernstash/kernstash/key"
)

// Manifest holds which files a unit read and looked for in vain, with what
// tells cheaply whether they changed. It is not safe for concurrent use.
type Manifest struct {
	Unit key.Digest // of the unit without its header files

	dir      string
	placing  Placing
	includes []key.Include
	files    []key.File
	reads    []seen  // by path
	probes   []probe // by path and kind
}

// seen is a path by which a file was read. Several may lead to one file.
type seen struct {
	Path    string
	file    int // index in the manifest's files
	stamp   stamp
	settled bool // a later change of the file would show in the stamp
}

func (m *Manifest) sort() {
	slices.SortFunc(m.reads, compareSeen)
	slices.SortFunc(m.probes, compareProbes)
}

func compareSeen(a, b seen) int { return cmp.Compare(a.Path, b.Path) }

func compareProbes(a, b probe) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.kind, b.kind))
}

// Placing returns what the [Tracking] said.
func (m *Manifest) Placing() Placing { return m.placing }

// unit returns u with what it reads.
func (m *Manifest) unit(u key.Unit) key.Unit {
	u.Dir, u.Includes, u.Files = m.dir, m.includes, m.files
	return u
}
