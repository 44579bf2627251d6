// Longtests prints an expression for go test -run that matches the tests of some packages that have
// a long form (internal/timing): those that ask for it, or call what does.
//
//	longtests DIR...
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	names, err := find(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "longtests:", err)
		os.Exit(1)
	}
	fmt.Printf("^(%s)$\n", strings.Join(names, "|"))
}

// find returns the names of the tests of packages in directories, in order, each once.
func find(dirs []string) (names []string, err error) {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			return nil, err
		}
		mentions := make(map[string]map[string]bool) // of a function: what is named in it
		for _, path := range files {
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok {
					add(mentions, fn)
				}
			}
		}
		names = append(names, long(mentions)...)
	}
	if len(names) == 0 {
		return nil, errors.New("no test has a long form")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// add notes what a function, or a method of its name, names.
func add(mentions map[string]map[string]bool, fn *ast.FuncDecl) {
	if mentions[fn.Name.Name] == nil {
		mentions[fn.Name.Name] = make(map[string]bool)
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			mentions[fn.Name.Name][n.Name] = true
		case *ast.BasicLit:
			mentions[fn.Name.Name][strings.Trim(n.Value, "\"`")] = true
		}
		return true
	})
}

// long returns the tests that name what has a long form, or a function that does, and so on. Builds with sanitizers,
// which shim/opencl/internal/stage and internal/cbuild make, are of long forms only.
func long(mentions map[string]map[string]bool) (tests []string) {
	has := map[string]bool{"Long": true, "IsLong": true, "Cases": true, "KERNSTASH_TEST_LONG": true, "Sanitizers": true, "asan": true, "tsan": true}
	for again := true; again; {
		again = false
		for name, named := range mentions {
			if has[name] {
				continue
			}
			for n := range named {
				if has[n] {
					has[name], again = true, true
					break
				}
			}
		}
	}
	for name := range mentions {
		if has[name] && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	return tests
}
