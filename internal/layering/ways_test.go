package layering

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A step is a function, or a table of functions, on the way of a request.
type step struct {
	file, name string
	back       bool // the line begins with "<": on the way back
	first      bool // of its line
}

// waysOf returns the ways that a document lists: blocks of code with the language "way", whose
// lines name a file and functions of it.
func waysOf(document string) (ways [][]step, err error) {
	for _, block := range strings.Split(document, "```way\n")[1:] {
		block, _, _ := strings.Cut(block, "```")
		var way []step
		for line := range strings.Lines(block) {
			line, back := strings.CutPrefix(strings.TrimSpace(line), "< ")
			file, names, ok := strings.Cut(line, " ")
			if !ok {
				return nil, fmt.Errorf("%q names no function", line)
			}
			for i, name := range strings.Split(strings.TrimSpace(names), ", ") {
				way = append(way, step{file, name, back, i == 0})
			}
		}
		ways = append(ways, way)
	}
	return ways, nil
}

// Each function of a way exists and calls the next. On the way back the first of a line is called
// by any before it. No file stands more than once on the way there, nor on the way back.
func TestWaysOfARequest(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	b, err := os.ReadFile(root + "/docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	ways, err := waysOf(string(b))
	if err != nil || len(ways) < 4 {
		t.Fatalf("%d ways, %v; want a hit and a miss, of Go and of the layer", len(ways), err)
	}
	for _, way := range ways {
		for _, fault := range h.faults(way) {
			t.Errorf("the way from %s: %s", way[0].file, fault)
		}
	}
}

// A list that is wrong is found to be.
func TestFaultsOfWays(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	tests := []struct{ way, want string }{
		{"stats/other.go Name\n", "stats/other.go has no Name"},
		{"key/key.go Key.Short, Key.IsZero\n", "Key.Short does not call Key.IsZero"},
		{"shim/library/library.c library_open, stay_out\n", "library_open does not call stay_out"},
		{"shim/library/library.c library_open, open_once, open_library\n", ""},
		{"shim/library/library.c library_open\nshim/library/library.c open_once\n", "shim/library/library.c stands there twice"},
		{"shim/library/library.c library_open, open_once\n< shim/library/library.c open_library\n", ""},
	}
	for _, tt := range tests {
		ways, err := waysOf("```way\n" + tt.way + "```")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(h.faults(ways[0]), "; "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.way, got, tt.want)
		}
	}
}

func (h *house) faults(way []step) (faults []string) {
	type line struct {
		file string
		back bool
	}
	seen := make(map[line]bool)
	for i, s := range way {
		if s.first {
			if l := (line{s.file, s.back}); seen[l] {
				faults = append(faults, s.file+" stands there twice")
			} else {
				seen[l] = true
			}
		}
		if !h.has(s) {
			faults = append(faults, s.file+" has no "+s.name)
			continue
		}
		if i == 0 {
			continue
		}
		callers := way[i-1 : i]
		if s.back && s.first {
			callers = way[:i]
		}
		called := false
		for _, caller := range callers {
			called = called || h.calls(caller, s)
		}
		if !called {
			faults = append(faults, callers[len(callers)-1].name+" does not call "+s.name)
		}
	}
	return faults
}

func (h *house) has(s step) bool {
	if filepath.Ext(s.file) != ".go" {
		return h.bodyInC(s) != ""
	}
	_, node := h.declaration(s)
	return node != nil
}

func (h *house) calls(from, to step) bool {
	_, name, isMethod := strings.Cut(to.name, ".")
	if !isMethod {
		name = to.name
	}
	if filepath.Ext(from.file) != ".go" {
		// By its name, or through a table of functions, whose fields have names without prefixes.
		_, short, _ := cutLast(name, "_")
		pattern := `\b` + regexp.QuoteMeta(name) + `\(`
		if short != "" {
			pattern += `|(->|\.)` + regexp.QuoteMeta(short) + `\(`
		}
		return regexp.MustCompile(pattern).MatchString(h.bodyInC(from))
	}
	p, node := h.declaration(from)
	if node == nil {
		return false
	}
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Name != name {
			return true
		}
		switch o := p.info.Uses[id].(type) {
		case *types.Func:
			receiver := o.Signature().Recv()
			switch {
			case receiver == nil:
				found = found || !isMethod && h.isIn(o.Pkg(), to.file)
			case types.IsInterface(receiver.Type()):
				found = found || isMethod // whose methods it has
			default:
				found = found || isMethod && h.isIn(o.Pkg(), to.file) && receiverOf(receiver.Type()) == strings.TrimSuffix(to.name, "."+name)
			}
		case *types.Var:
			found = found || h.isIn(o.Pkg(), to.file)
		}
		return true
	})
	return found
}

func (h *house) isIn(p *types.Package, file string) bool {
	if p == nil {
		return false
	}
	path, ours := within(p.Path())
	return ours && path == folder(file)
}

func receiverOf(t types.Type) string {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// declaration returns what declares a step in Go: "Type.Method", a function, or a variable.
func (h *house) declaration(s step) (*goPackage, ast.Node) {
	for _, p := range h.packages {
		if p.path != folder(s.file) {
			continue
		}
		for _, f := range p.files {
			if filepath.Base(h.fset.Position(f.Pos()).Filename) != filepath.Base(s.file) {
				continue
			}
			for _, d := range f.Decls {
				if node := declares(d, s.name); node != nil {
					return p, node
				}
			}
		}
	}
	return nil, nil
}

func declares(d ast.Decl, name string) ast.Node {
	switch d := d.(type) {
	case *ast.FuncDecl:
		own := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			switch generic := receiver.(type) {
			case *ast.IndexExpr:
				receiver = generic.X
			case *ast.IndexListExpr:
				receiver = generic.X
			}
			own = receiver.(*ast.Ident).Name + "." + own
		}
		if own == name {
			return d
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == name {
				return v
			}
		}
	}
	return nil
}

// bodyInC returns a function in C from its name on; "" if the file does not define it.
func (h *house) bodyInC(s step) string {
	text := h.code[s.file]
	begin := regexp.MustCompile(`(?m)^\w[^\n;={}]*\b` + regexp.QuoteMeta(s.name) + `\([^;{}]*\)\n\{`).FindStringIndex(text)
	if begin == nil {
		return ""
	}
	body, _, _ := strings.Cut(text[begin[1]:], "\n}")
	return body
}
