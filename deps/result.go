package deps

import (
	"cmp"
	"crypto/sha256"
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
	if err := num.visit(t.order[0], 0); err != nil {
		return nil, err
	}
	u := t.unit
	u.Includes, u.Files = num.includes(t.order[0]), nil
	for _, n := range num.nodes {
		u.Files = append(u.Files, key.File{Path: n.path, Digest: n.digest, Size: n.stamp.Size, Includes: num.includes(n)})
	}
	if name := cmp.Or(t.traces.NamesPath(), flags.NamedPath(t.words)); name != "" && t.from.Unnamed {
		return nil, asError(reason.Uncacheable{Code: reason.NotCacheableFile, Detail: name + ", which is another each time"})
	}
	if t.traces.KeepsPaths(t.words) {
		u.Dir = t.from.Dir
	}
	for _, n := range t.order[1:] {
		if err := num.check(n, u.Files, u.Dir != ""); err != nil {
			return nil, err
		}
	}
	placing := manifest.Unplaced
	if u.Kind == key.CUDACpp {
		placing = t.placing()
	}
	contents := make(map[key.Digest][]byte, len(num.index))
	reads := make([]manifest.Read, 0, len(t.files))
	for path, f := range t.files {
		reads = append(reads, manifest.Read{Path: path, File: num.index[f], Stamp: f.stamp, Settled: t.disk.At(path).Settled})
		contents[f.digest] = f.content
	}
	m := manifest.New(u, placing, reads, slices.Collect(maps.Keys(t.disk.Probes)))
	return &Tracking{Unit: u, Contents: contents, Manifest: m}, nil
}

// numbering gives each file, whatever paths lead to it, its number: in the order in
// which they are first reached, depth first.
type numbering struct {
	index map[*file]int
	nodes []*node // the first of each file
}

// maxDepth is how deep files may nest: compilers stop there, too.
const maxDepth = 200

// visit numbers what n leads to.
func (num *numbering) visit(n *node, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("header files more than %d deep", maxDepth)
	}
	for _, to := range slices.Concat(n.targets...) {
		if to.node == nil {
			continue
		}
		if _, ok := num.index[to.node.file]; ok {
			continue
		}
		num.index[to.node.file] = len(num.nodes)
		num.nodes = append(num.nodes, to.node)
		if err := num.visit(to.node, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// includes returns the lines of n. A file without a number is -2.
func (num *numbering) includes(n *node) (list []key.Include) {
	for _, to := range slices.Concat(n.targets...) {
		i := key.Include{Name: to.name, File: -1}
		if to.node != nil {
			i.File = -2
			if number, ok := num.index[to.node.file]; ok {
				i.File = number
			}
			if last := len(list) - 1; last >= 0 && list[last] == i {
				continue // two places hold the file
			}
		}
		list = append(list, i)
	}
	return list
}

// check makes sure that a file that is reached in several ways leads to the
// same files from each: which way a compiler remembers is unsure.
func (num *numbering) check(n *node, as []key.File, paths bool) error {
	i, ok := num.index[n.file]
	switch {
	case !ok:
		return fmt.Errorf("%s: its place is unsure", n.path)
	case !slices.Equal(num.includes(n), as[i].Includes):
		return fmt.Errorf("%s includes other files than %s, which is the same file", n.path, as[i].Path)
	case paths && n.path != as[i].Path:
		return fmt.Errorf("%s is also %s, and paths matter", n.path, as[i].Path)
	}
	return nil
}

// rules is the number of the rules by which files are found. It is raised when
// a unit is found to read files that were not found before, or something else is found out, so that manifests by
// the old rules are forgotten.
const rules = 7

// FirstKey returns the name of the manifest of a unit: a digest of everything
// that decides which files it reads, but those files. Versions of the format have
// names of their own, so none takes another's manifest away.
func FirstKey(device key.Digest, u key.Unit, words []string, s Search) key.Digest {
	u.Includes, u.Files, u.Dir = nil, nil, ""
	return sha256.Sum256(fmt.Appendf(nil, "kernstash first key\x00%d %d %x %x %q %q %q %q %q %q",
		manifest.Version, rules, device, u.Digest(), words, s.Dir, s.Main, s.First, s.Last, s.System))
}
