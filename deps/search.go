package deps

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/key"
)

// Search says where a compiler looks for header files besides the directories
// that its options name. All directories are absolute.
type Search struct {
	Dir string // the working directory

	// Main is the directory in which the compiler believes the main source to
	// be, where its own #include "…" are looked for first. "" says that it is
	// not known; then a header that the working directory hides, or may hide,
	// makes a unit uncacheable.
	Main string

	// Unnamed says that the compiler gives the main source another name each time, so
	// that code that its name gets into is not cacheable.
	Unnamed bool

	First, Last []string // searched before and behind those of -I, as if by -I
	System      []string // searched behind all but those of -idirafter
}

// path returns the whole order of the search: quotes directories for #include "…" alone come
// first, systems of the system last.
func (s Search) path(dirs []flags.Dir) (path []string, quotes, systems int) {
	var by [flags.AfterDirs + 1][]string
	for _, d := range dirs {
		dir := d.Path
		if !filepath.IsAbs(dir) {
			dir = s.Dir + "/" + dir
		}
		by[d.Rank] = append(by[d.Rank], dir)
	}
	by[flags.AngledDirs] = slices.Concat(s.First, by[flags.AngledDirs], s.Last)
	by[flags.SystemDirs] = append(by[flags.SystemDirs], s.System...)
	return slices.Concat(by[:]...), len(by[flags.QuotedDirs]), len(by[flags.SystemDirs]) + len(by[flags.AfterDirs])
}

// directories sets the order of the search. Compilers leave out a directory
// that they searched already, and one that comes again among those of the
// system at its first place.
func (t *tracker) directories(dirs []flags.Dir) error {
	path, quotes, systems := t.from.path(dirs)
	first := len(path) - systems
	inodes := make(map[files.Inode]string)
	for i, dir := range path {
		plain, err := t.disk.Plain(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		dir, path[i] = plain, plain
		switch s := t.disk.At(dir); {
		case s.Err != nil:
			return fmt.Errorf("%s: %w", dir, s.Err)
		case s.Kind == files.Regular || s.Kind == files.Special:
			return fmt.Errorf("%s is searched, but is no directory", dir)
		case s.Kind == files.Directory:
			if same := inodes[s.Stamp.Inode]; same != "" && same != dir {
				return fmt.Errorf("%s and %s, which are searched, are one directory", same, dir)
			}
			inodes[s.Stamp.Inode] = dir
		}
	}
	for i, dir := range path {
		again := slices.Contains(path[:i], dir)
		switch {
		case i < quotes:
		case i < first:
			again = slices.Contains(path[quotes:i], dir) || slices.Contains(path[first:], dir)
		default:
			again = slices.Contains(path[first:i], dir)
		}
		if again {
			continue
		}
		if i < quotes {
			t.quotes++
		}
		t.path = append(t.path, dir)
	}
	return nil
}

// lookup finds what a name in a node leads to: one target, or several where compilers may
// take either.
func (t *tracker) lookup(n *node, w wanted) ([]target, error) {
	if w.next && n.beside && w.name[0] != '/' {
		// In a file that was found beside its includer some compilers go on where that one
		// was found (clang 15), others start again (GCC 12, NVRTC 11.8 and 12.4).
		return t.lookupAll(n, w)
	}
	found, err := t.search(n, w, n.at)
	if err != nil {
		return nil, err
	}
	if n.main() && t.from.Main == "" && w.name[0] != '/' {
		return t.lookupMain(w, found)
	}
	return t.targets(w, found)
}

// lookupAll finds each file of a name in n that a compiler may take, wherever its search
// starts: all count.
func (t *tracker) lookupAll(n *node, w wanted) ([]target, error) {
	var places []place
	if w.form == '"' {
		path, err := t.disk.Find(files.Parent(n.path), w.name)
		if err != nil {
			return nil, err
		}
		if path != "" {
			places = append(places, place{path: path, at: n.at, beside: true})
		}
	}
	for i, dir := range t.path {
		path, err := t.disk.Find(dir, w.name)
		if err != nil {
			return nil, err
		}
		if path != "" {
			places = append(places, place{path: path, at: i})
		}
	}
	if places == nil {
		places = []place{{at: nowhere}}
	}
	return t.targets(w, places...)
}

// lookupMain adds to what a name in the main source leads to what it may lead
// to as well, as it is not known where a compiler believes the source to be: in
// the working directory, perhaps.
func (t *tracker) lookupMain(w wanted, found place) ([]target, error) {
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

// same reports whether two places hold the same file, or none.
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
	home := t.from.Main // where its own #include "…" are looked for first; "": not known
	if !n.main() {
		home = files.Parent(n.path)
	}
	if home != "" && w.form == '"' && !next {
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

func (t *tracker) targets(w wanted, places ...place) ([]target, error) {
	list := make([]target, 0, len(places))
	for _, p := range places {
		if p.path == "" {
			list = append(list, target{name: w.String()})
			continue
		}
		f, err := t.load(p.path)
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
			m = &node{place: p, file: f}
			t.add(m)
		}
		list = append(list, target{w.String(), m})
	}
	return list, nil
}

// Bounds of what one unit may read.
const (
	maxBytes = 64 << 20
	maxFiles = 20_000
)

// file is a source: a header file that was read, by whatever path, or the main one.
type file struct {
	src     *scan.Source
	digest  key.Digest // this, and what follows, is of header files
	content []byte
	stamp   files.Stamp
	told    atomic.Pointer[told]
}

// told is whether a file has a name of a set in it. The next unit that includes the file asks
// for the same names, mostly: those of macros in the files that it includes, too.
type told struct {
	names string // the set, sorted
	has   bool
}

// has reports whether the text of f has one of set in it; names is the set, sorted.
func (f *file) has(set *lexer.Set, names string) bool {
	if known := f.told.Load(); known != nil && known.names == names {
		return known.has
	}
	answer := &told{names, set.In(f.src.Text)}
	f.told.Store(answer)
	return answer.has
}

// load reads the file that was found at path, once.
func (t *tracker) load(path string) (*file, error) {
	if f := t.files[path]; f != nil {
		return f, nil
	}
	s := t.disk.At(path)
	f := t.inodes[s.Stamp.Inode]
	switch {
	case f == nil:
		var err error
		if f, err = t.readFile(path, s); err != nil {
			return nil, err
		}
		t.inodes[s.Stamp.Inode] = f
	case f.stamp != s.Stamp:
		return nil, fmt.Errorf("%s: %w", path, files.ErrChanging)
	}
	t.files[path] = f
	return f, nil
}

func (t *tracker) readFile(path string, s *files.Spot) (*file, error) {
	if len(t.inodes) == maxFiles {
		return nil, files.ErrTooMuch
	}
	if err := t.disk.InTime(); err != nil {
		return nil, err
	}
	if f := t.memory.get(s, t.traces); f != nil && f.stamp.Size <= maxBytes-t.bytes {
		t.bytes += f.stamp.Size
		return f, nil
	}
	content, st, err := t.disk.Read(path, maxBytes-t.bytes)
	if err == nil && st != s.Stamp {
		err = files.ErrChanging
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.bytes += st.Size
	noted := t.traces.Fresh()
	f := &file{src: scan.Scan(content, noted), digest: sha256.Sum256(content), content: content, stamp: st}
	t.traces.Add(noted)
	t.memory.put(s, f, noted)
	return f, nil
}

// Read reads a header file that was read before. It is an error if its content is
// another one by now.
func Read(f key.File) ([]byte, error) {
	if f.Size > maxBytes {
		return nil, fmt.Errorf("%s: %w", f.Path, files.ErrTooMuch)
	}
	content, _, err := files.OS.Read(f.Path, f.Size)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(content) != f.Digest {
		return nil, fmt.Errorf("%s: not what was built", f.Path)
	}
	return content, nil
}

// Stamp tells a file from another, and from what it was before it changed.
type Stamp = files.Stamp

// StampOf returns the stamp of a file; false: there is none.
func StampOf(path string) (Stamp, bool) {
	k, stamp, err := files.OS.Look(path)
	return stamp, err == nil && k == files.Regular
}
