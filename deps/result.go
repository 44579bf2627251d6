package deps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// result numbers the files and writes down what was looked at.
func (t *tracker) result() (*Tracking, error) {
	num := numbering{index: make(map[*file]int)}
	u := t.unit
	var err error
	if u.Includes, err = num.visit(t.order[0], 0); err != nil {
		return nil, err
	}
	u.Files = num.files
	if name := cmp.Or(t.traces.NamesPath(), flags.NamedPath(t.words)); name != "" && t.from.Unnamed {
		return nil, asError(reason.Uncacheable{Code: reason.NotCacheableFile, Detail: name + ", which is another each time"})
	}
	if t.traces.KeepsPaths(t.words) {
		u.Dir = t.from.Dir
	}
	for _, n := range t.order[1:] {
		if err := num.check(n, u.Dir != ""); err != nil {
			return nil, err
		}
	}
	placing := manifest.Unplaced
	if u.Kind == key.CUDACpp {
		placing = t.placing()
	}
	contents := make(map[key.Digest][]byte, len(num.index))
	reads := make([]manifest.Read, 0, len(t.headers.read))
	for path, f := range t.headers.read {
		reads = append(reads, manifest.Read{Path: path, File: num.index[f], Stamp: f.stamp, Settled: t.Disk.At(path).Settled})
		contents[f.Digest] = f.content
	}
	m := manifest.New(u, placing, reads, slices.Collect(maps.Keys(t.Disk.Probes)))
	return &Tracking{Unit: u, Contents: contents, Manifest: m}, nil
}

// numbering gives each file, whatever paths lead to it, its number: in the
// order in which they are first reached, depth first.
type numbering struct {
	index map[*file]int
	files []key.File
	room  []key.Include // of check
}

// leads returns how many targets the lines of n have.
func (n *node) leads() (count int) {
	for _, targets := range n.targets {
		count += len(targets)
	}
	return count
}

// maxDepth is how deep files may nest: compilers stop there, too.
const maxDepth = 200

// visit numbers what n leads to and returns its lines.
func (num *numbering) visit(n *node, depth int) ([]key.Include, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("header files more than %d deep", maxDepth)
	}
	var list []key.Include
	if most := n.leads(); most > 0 {
		list = make([]key.Include, 0, most)
	}
	for _, targets := range n.targets {
		for _, g := range targets {
			if g.node == nil {
				list = append(list, key.Include{Name: g.name, File: -1})
				continue
			}
			i, ok := num.index[g.node.file]
			if !ok {
				i = len(num.files)
				num.index[g.node.file] = i
				num.files = append(num.files, key.File{Path: g.node.Path, Digest: g.node.file.Digest, Size: g.node.file.stamp.Size})
				includes, err := num.visit(g.node, depth+1)
				if err != nil {
					return nil, err
				}
				num.files[i].Includes = includes
			}
			list = addInclude(list, key.Include{Name: g.name, File: i})
		}
	}
	return list, nil
}

// addInclude appends to list, unless the same stands there because two places
// hold the file.
func addInclude(list []key.Include, i key.Include) []key.Include {
	if n := len(list); n > 0 && list[n-1] == i {
		return list
	}
	return append(list, i)
}

// check makes sure that a file that is reached in several ways leads to the
// same files from each: which way a compiler remembers is unsure.
func (num *numbering) check(n *node, paths bool) error {
	i, ok := num.index[n.file]
	if !ok {
		return fmt.Errorf("%s: its place is unsure", n.Path)
	}
	list := num.room[:0]
	defer func() { num.room = list }()
	for _, targets := range n.targets {
		for _, g := range targets {
			if g.node == nil {
				list = append(list, key.Include{Name: g.name, File: -1})
				continue
			}
			j, ok := num.index[g.node.file]
			if !ok {
				j = -2
			}
			list = addInclude(list, key.Include{Name: g.name, File: j})
		}
	}
	if !slices.Equal(list, num.files[i].Includes) {
		return fmt.Errorf("%s includes other files than %s, which is the same file", n.Path, num.files[i].Path)
	}
	if paths && n.Path != num.files[i].Path {
		return fmt.Errorf("%s is also %s, and paths matter", n.Path, num.files[i].Path)
	}
	return nil
}
