package deps

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/macro"
	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Tracking is what a translation unit reads, as it was when it was tracked.
type Tracking struct {
	Unit     key.Unit              // the unit with Includes and Files, and Dir where paths matter
	Contents map[key.Digest][]byte // of the header files, by digest
	Manifest *manifest.Manifest    // what has to be the same for Unit to be still right
}

// Track finds the header files that a unit reads, and the names that it looks
// for and does not find. words are the compile options (see [key.Tokens]). It reads each
// file once, and waits for no other process.
//
// It finds too much rather than too little: every branch of a condition is
// followed, and where a macro may have several definitions, all of them are. A
// [reason.Uncacheable] says that not everything can be found; then there is no Tracking.
func Track(u key.Unit, words []string, s Search) (*Tracking, reason.Uncacheable) {
	return track(newTracker(files.OS, nil, u, words, s))
}

func track(t *tracker) (*Tracking, reason.Uncacheable) {
	if !isSource(t.unit.Kind) {
		return nil, reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "no source"}
	}
	tracking, err := t.track()
	var why reasonError
	if err != nil && !errors.As(err, &why) {
		why.Uncacheable = reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: err.Error()}
	}
	return tracking, why.Uncacheable
}

// reasonError carries a [reason.Uncacheable].
type reasonError struct{ reason.Uncacheable }

func asError(r reason.Uncacheable) error {
	if r.None() {
		return nil
	}
	return reasonError{r}
}

func (r reasonError) Error() string { return r.String() }

// tracker finds the files of one unit: a graph of nodes.
type tracker struct {
	unit   key.Unit
	words  []string
	from   Search
	path   []string // directories in the order of the search
	quotes int      // so many of them are for #include "…" alone

	disk   *files.Disk
	memory *Memory          // may be nil
	files  map[string]*file // header files by path
	inodes map[files.Inode]*file
	bytes  int64 // in them
	traces *scan.Traces
	macros *macro.Table
	nodes  map[place]*node
	order  []*node // as they were found, the main source first

	directives     int             // in the sources of order
	read, expanded int             // so many of them were followed, without and with macros
	asking         map[string]bool // macros that may ask for files
	askingSet      *lexer.Set      // the same; nil: there are none
}

func newTracker(sys files.System, m *Memory, u key.Unit, words []string, s Search) *tracker {
	return &tracker{
		unit: u, words: words, from: s,
		disk: files.NewDisk(sys), memory: m, files: make(map[string]*file), inodes: make(map[files.Inode]*file),
		traces: scan.NewTraces(u.Kind, words), macros: macro.NewTable(),
		nodes: make(map[place]*node),
	}
}

// place tells nodes apart: a file may be reached by several names, and
// #include_next in it depends on the directory in which it was found.
type place struct {
	path   string // "" of the main source
	at     int    // index in the tracker's path, or nowhere; 0 where it makes no difference
	beside bool   // found beside its includer, which was found at
}

// nowhere is the index of a file that no searched directory led to.
const nowhere = -1

// node is a source at the place where it was found.
type node struct {
	place
	*file
	targets [][]target // for each line of src
}

// target is what a line leads to.
type target struct {
	name string // with delimiters
	node *node  // nil: nothing
}

func (n *node) main() bool { return n.path == "" }

func (t *tracker) track() (*Tracking, error) {
	if err := t.prepare(); err != nil {
		return nil, err
	}
	for {
		// What is found is appended to the order while the loop runs.
		for ; t.read < len(t.order); t.read++ {
			if err := t.follow(t.order[t.read], false); err != nil {
				return nil, err
			}
		}
		if t.expanded == len(t.order) {
			break
		}
		// All macros that are known count for all lines, so all are expanded
		// again once there are more sources.
		t.expanded = len(t.order)
		if err := t.findAsking(); err != nil {
			return nil, err
		}
		for _, n := range t.order[:t.expanded] {
			if err := t.follow(n, true); err != nil {
				return nil, err
			}
		}
	}
	if err := cmp.Or(t.askedInCode(), asError(t.traces.ReasonWith(t.words))); err != nil {
		return nil, err
	}
	return t.result()
}

// prepare takes in the options and the main source.
func (t *tracker) prepare() error {
	s := t.from
	for _, dir := range slices.Concat([]string{s.Dir, cmp.Or(s.Main, s.Dir)}, s.First, s.Last, s.System) {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("the directory %q is not absolute", dir)
		}
	}
	if len(t.unit.Headers) > 0 {
		return errors.New("headers in memory beside header files")
	}
	_, _, dirs, doubt := flags.ParseSearch(t.words)
	if doubt != "" {
		return fmt.Errorf("option %s: drivers read it differently", doubt)
	}
	if err := t.directories(dirs); err != nil {
		return err
	}
	t.macros.Options(t.words)
	return asError(t.addMain().Reason)
}

func (t *tracker) addMain() *scan.Source {
	src := scan.Scan(t.unit.Code, t.traces)
	t.add(&node{place: place{at: nowhere}, file: &file{src: src}})
	return src
}

func (t *tracker) add(n *node) {
	n.targets = make([][]target, len(n.src.Lines))
	t.nodes[n.place] = n
	t.order = append(t.order, n)
	macros := make([]macro.Macro, len(n.src.Macros))
	for i, d := range n.src.Macros {
		macros[i] = macro.Macro{Text: n.src.Text, At: d.At, End: d.End}
		t.macros.Define(d.Name, &macros[i])
	}
	for _, name := range n.src.Undefs {
		t.macros.Undefine(name)
	}
}

// follow looks where the lines of a node lead: those that name a file, or those
// that are computed, by the macros that are known now.
func (t *tracker) follow(n *node, computed bool) error {
	for i, l := range n.src.Lines {
		if (l.Form == 0) != computed {
			continue
		}
		if err := cmp.Or(t.macros.Spend(1), t.disk.InTime()); err != nil {
			return err
		}
		names := []wanted{{l.Form, l.Name, l.Next}}
		if computed {
			var err error
			if names, err = t.expand(n, l); err != nil {
				return err
			}
		}
		n.targets[i] = n.targets[i][:0]
		found := !computed || l.Kind != scan.Include
		for _, name := range names {
			targets, err := t.lookup(n, name)
			if err != nil {
				return err
			}
			n.targets[i] = append(n.targets[i], targets...)
			found = found || targets[0].node != nil
		}
		if !found {
			// The compiler may know a macro that is in no source.
			return fmt.Errorf("%s: no such file", showLine(n.src, l))
		}
	}
	return nil
}

// wanted is a header's name that a line leads to.
type wanted struct {
	form byte
	name string
	next bool
}

func (w wanted) String() string {
	if w.form == '<' {
		return "<" + w.name + ">"
	}
	return `"` + w.name + `"`
}

// expand returns the names that a line may ask for: one, unless macros are in it.
func (t *tracker) expand(n *node, l scan.Line) ([]wanted, error) {
	if l.Kind == scan.Condition {
		return t.questions(n, l)
	}
	list := macro.Lex(n.src.Text, l.At)
	if l.Kind == scan.Question {
		list = withinParentheses(list)
	}
	found := make(map[wanted]bool)
	err := t.macros.ExpandAll(list, func(out []macro.Token) error {
		form, name, _, err := macro.HeaderName(out)
		if err == nil {
			found[wanted{form, name, l.Next}] = true
		}
		return err
	})
	if err == nil && len(found) == 0 {
		err = macro.ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", showLine(n.src, l), err)
	}
	return sortWanted(found)
}

func sortWanted(found map[wanted]bool) ([]wanted, error) {
	for w := range found {
		if strings.ContainsAny(w.name, "\\\v") {
			return nil, fmt.Errorf("%s is a name that compilers read differently", w)
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b wanted) int {
		return strings.Compare(fmt.Sprint(a, a.next), fmt.Sprint(b, b.next))
	}), nil
}

// withinParentheses returns what stands before the closing parenthesis of one left out.
func withinParentheses(list []macro.Token) []macro.Token {
	depth := 0
	for i, t := range list {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth == 0 {
				return list[:i]
			}
			depth--
		}
	}
	return list
}
