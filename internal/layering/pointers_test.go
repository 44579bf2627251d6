package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handlesOnly are the functions with a variable number of uintptr that take no Go pointer
// in them.
var handlesOnly = map[string]bool{
	"gpu/levelzero list":          true, // pins what it adds itself
	"gpu/opencl/internal/cl Info": true,
	"gpu/opencl partition":        true,
}

// TestPointersForC: what calls C with any number of uintptr has its callers keep the
// memory in place that these point to. Without the directive, C writes to where a
// goroutine's stack was, now and then.
func TestPointersForC(t *testing.T) {
	t.Parallel()
	var wrong []string
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !takesAnyNumber(f) {
				continue
			}
			found++
			dir, err := filepath.Rel("../..", filepath.Dir(path))
			if err != nil {
				return err
			}
			if name := filepath.ToSlash(dir) + " " + f.Name.Name; !isDirected(f) && !handlesOnly[name] {
				wrong = append(wrong, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string(nil), wrong); d != "" {
		t.Errorf("functions without //go:uintptrescapes:\n%s", d)
	}
	if found < 10 {
		t.Errorf("only %d such functions", found)
	}
}

// takesAnyNumber reports whether a function's last parameter is ...uintptr.
func takesAnyNumber(f *ast.FuncDecl) bool {
	params := f.Type.Params.List
	if len(params) == 0 {
		return false
	}
	last, ok := params[len(params)-1].Type.(*ast.Ellipsis)
	if !ok {
		return false
	}
	elem, ok := last.Elt.(*ast.Ident)
	return ok && elem.Name == "uintptr"
}

func isDirected(f *ast.FuncDecl) bool {
	if f.Doc == nil {
		return false
	}
	for _, c := range f.Doc.List {
		if c.Text == "//go:uintptrescapes" {
			return true
		}
	}
	return false
}
