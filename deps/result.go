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
		reads = append(reads, manifest.Read{Path: path, File: num.index[f], Stamp: f.stamp, Settled: t.disk.At(path).Settled})
		contents[f.digest] = f.content
	}
	m := manifest.New(u, placing, reads, slices.Collect(maps.Keys(t.disk.Probes)))
	return &Tracking{Unit: u, Contents: contents, Manifest: m}, nil
}

// numbering gives each file, whatever paths lead to it, its number: in the
// order in which they are first reached, depth first.
type numbering struct {
	index map[*file]int
	files []key.File
}

// includes returns the lines of n, with the number that each file has by index.
func (n *node) includes(index func(*node) (int, error)) (list []key.Include, err error) {
	for _, targets := range n.targets {
		for _, g := range targets {
			i := key.Include{Name: g.name, File: -1}
			if g.node != nil {
				if i.File, err = index(g.node); err != nil {
					return nil, err
				}
				if last := len(list) - 1; last >= 0 && list[last] == i {
					continue // two places hold the file
				}
			}
			list = append(list, i)
		}
	}
	return list, nil
}

// maxDepth is how deep files may nest: compilers stop there, too.
const maxDepth = 200

// visit numbers what n leads to and returns its lines.
func (num *numbering) visit(n *node, depth int) ([]key.Include, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("header files more than %d deep", maxDepth)
	}
	return n.includes(func(g *node) (int, error) {
		i, ok := num.index[g.file]
		if ok {
			return i, nil
		}
		i = len(num.files)
		num.index[g.file] = i
		num.files = append(num.files, key.File{Path: g.path, Digest: g.file.digest, Size: g.file.stamp.Size})
		includes, err := num.visit(g, depth+1)
		num.files[i].Includes = includes
		return i, err
	})
}

// check makes sure that a file that is reached in several ways leads to the
// same files from each: which way a compiler remembers is unsure.
func (num *numbering) check(n *node, paths bool) error {
	i, ok := num.index[n.file]
	if !ok {
		return fmt.Errorf("%s: its place is unsure", n.path)
	}
	includes, _ := n.includes(func(g *node) (int, error) {
		if j, ok := num.index[g.file]; ok {
			return j, nil
		}
		return -2, nil
	})
	if !slices.Equal(includes, num.files[i].Includes) {
		return fmt.Errorf("%s includes other files than %s, which is the same file", n.path, num.files[i].Path)
	}
	if paths && n.path != num.files[i].Path {
		return fmt.Errorf("%s is also %s, and paths matter", n.path, num.files[i].Path)
	}
	return nil
}
