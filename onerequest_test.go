package kernstash_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// An ask is all that decides what a compiler of one's own makes.
type ask struct {
	device    key.Device
	variables []key.Pair
	search    deps.Search
	units     []key.Unit
	sequence  bool
	request   kernstash.Request
}

// ownCompiler counts its work, and obeys variables.
type ownCompiler struct {
	kernstash.Compiler
	variables []key.Pair
}

func (c ownCompiler) Variables(int) ([]key.Pair, error) { return c.variables, nil }

// open opens a cache and a context for a. Compile calls compiled.
func (a ask) open(t *testing.T, root string, compiled func(r *key.Recipe)) (*kernstash.Cache, *kernstash.Context[[]byte, struct{}]) {
	t.Helper()
	cache, err := kernstash.Open(kernstash.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	return cache, kernstash.NewContext(cache, ownCompiler{kernstash.Compiler{
		Device: a.device,
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			if compiled != nil {
				compiled(r)
			}
			return []byte("code"), nil
		},
		Headers: func(string) (deps.Search, error) { return a.search, nil },
	}, a.variables}, kernstash.ContextOptions{})
}

// compiles has a process of its own, as far as the cache can tell, ask for something,
// and returns what was compiled for that, nil if nothing was.
func (a ask) compiles(t *testing.T, root string) (compiled *key.Recipe) {
	t.Helper()
	cache, x := a.open(t, root, func(r *key.Recipe) { compiled = r })
	make := kernstash.NewImageSet
	if a.sequence {
		make = kernstash.NewImageSequence
	}
	var err error
	if a.request.Image, err = make(a.units...); err != nil {
		t.Fatal(err)
	}
	p, err := x.Program(t.Context(), a.request)
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
	return compiled
}

const oneSource = "#include \"a.h\"\n#include <b.h>\nint f(void) { return A + B; }\n"

// baseAsk returns what the pairs of TestOneRequest differ from.
func baseAsk(tree string) ask {
	return ask{
		device: key.Device{
			API: "opencl", Platform: "P", Name: "N", Version: "1", Driver: "2",
			Traits: []key.Pair{{Name: "cpu", Value: "x"}, {Name: "vendor", Value: "y"}}, Compiler: []key.Pair{{Name: "liba", Value: "1"}, {Name: "libb", Value: "2"}},
		},
		variables: []key.Pair{{Name: "V", Value: "1"}, {Name: "W", Value: "2"}},
		units:     []key.Unit{{Kind: key.OpenCLC, Code: []byte(oneSource)}},
		request: kernstash.Request{
			CompileOptions: "-I" + filepath.Join(tree, "inc") + " -I" + tree + " -DX=1 -DY=2 -cl-mad-enable",
			Constants:      []key.SpecConstant{key.Uint32(1, 5), key.Uint32(7, 6)},
		},
	}
}

// Which requests share what was compiled, seen by a process that asks after another one:
// each pair of requests differs in one thing.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	options := func(format string) func(a *ask, tree string) {
		return func(a *ask, tree string) {
			a.request.CompileOptions = fmt.Sprintf(format, filepath.Join(tree, "inc"), tree)
		}
	}
	file := func(name, content string) func(a *ask, tree string) {
		return func(_ *ask, tree string) { putInTree(t, tree, name, content) }
	}
	units := func(sequence bool, codes ...string) func(a *ask, tree string) {
		return func(a *ask, _ string) {
			a.sequence, a.units = sequence, nil
			for _, c := range codes {
				a.units = append(a.units, key.Unit{Kind: key.OpenCLC, Code: []byte(c)})
			}
		}
	}
	constants := func(c ...key.SpecConstant) func(a *ask, tree string) {
		return func(a *ask, _ string) { a.request.Constants = c }
	}
	nothing := func(*ask, string) {}
	for name, test := range map[string]struct {
		first, second func(a *ask, tree string)
		same          bool
	}{
		"nothing": {nothing, nothing, true},

		"order of traits":    {nothing, func(a *ask, _ string) { swap(a.device.Traits) }, true},
		"order of libraries": {nothing, func(a *ask, _ string) { swap(a.device.Compiler) }, true},
		"order of variables": {nothing, func(a *ask, _ string) { swap(a.variables) }, true},
		"driver's interface": {nothing, func(a *ask, _ string) { a.device.API = "levelzero" }, false},
		"platform":           {nothing, func(a *ask, _ string) { a.device.Platform = "Q" }, false},
		"name of the device": {nothing, func(a *ask, _ string) { a.device.Name = "M" }, false},
		"device's version":   {nothing, func(a *ask, _ string) { a.device.Version = "2" }, false},
		"driver's version":   {nothing, func(a *ask, _ string) { a.device.Driver = "3" }, false},
		"trait":              {nothing, func(a *ask, _ string) { a.device.Traits[0].Value = "z" }, false},
		"library":            {nothing, func(a *ask, _ string) { a.device.Compiler[1].Value = "3" }, false},
		"variable":           {nothing, func(a *ask, _ string) { a.variables[0].Value = "2" }, false},
		"variable unset":     {nothing, func(a *ask, _ string) { a.variables = a.variables[:1] }, false},

		"order of constants":      {nothing, func(a *ask, _ string) { swap(a.request.Constants) }, true},
		"a constant":              {nothing, constants(key.Uint32(1, 5), key.Uint32(7, 7)), false},
		"a constant's id":         {nothing, constants(key.Uint32(1, 5), key.Uint32(8, 6)), false},
		"fewer constants":         {nothing, constants(key.Uint32(1, 5)), false},
		"no constants":            {nothing, constants(), false},
		"values in another width": {constants(key.Uint32(1, 5)), constants(key.SpecConstant{ID: 1, Value: []byte{5}}), false},
		"values of two exchanged": {nothing, constants(key.Uint32(1, 6), key.Uint32(7, 5)), false},

		"order of definitions":      {nothing, options("-DY=2 -I%s -I%s -DX=1 -cl-mad-enable"), true},
		"definitions as two words":  {nothing, options("-I%s -I%s -D X=1 -D Y=2 -cl-mad-enable"), true},
		"directories as two words":  {nothing, options("-I %s -I %s -DX=1 -DY=2 -cl-mad-enable"), true},
		"spaces":                    {nothing, options("  -I%s  -I%s   -DX=1 -DY=2   -cl-mad-enable "), true},
		"a definition":              {nothing, options("-I%s -I%s -DX=1 -DY=3 -cl-mad-enable"), false},
		"another option":            {nothing, options("-I%s -I%s -DX=1 -DY=2 -cl-mad-enable -w"), false},
		"one option less":           {nothing, options("-I%s -I%s -DX=1 -DY=2"), false},
		"order of one name's":       {options("-I%s -I%s -DX=1 -DX=2"), options("-I%s -I%s -DX=2 -DX=1"), false},
		"no options and empty ones": {func(a *ask, _ string) { small(a) }, func(a *ask, _ string) { small(a); a.request.NoOptions = true }, false},
		"link options":              {nothing, func(a *ask, _ string) { a.request.LinkOptions = "-create-library" }, false},
		"a directory of nothing":    {nothing, options("-I%s -I%s/none -I%[2]s -DX=1 -DY=2 -cl-mad-enable"), true},
		"a directory of the compiler's": {options("-I%s -I%s -DX=1"), func(a *ask, tree string) {
			a.request.CompileOptions, a.search.System = "-DX=1 -I"+filepath.Join(tree, "inc"), []string{tree}
		}, true},

		"a header":              {nothing, file("a.h", "#define A 3\n"), false},
		"a header's header":     {nothing, file("inc/c.h", "#define C 3\n"), false},
		"a header that hides":   {nothing, file("inc/a.h", "#define A 3\n"), false},
		"a header that is lost": {file("inc/a.h", "#define A 3\n"), func(_ *ask, tree string) { os.Remove(filepath.Join(tree, "inc/a.h")) }, false},
		"a header's equal": {nothing, func(_ *ask, tree string) {
			if err := os.Remove(filepath.Join(tree, "a.h")); err != nil {
				t.Error(err)
			}
			putInTree(t, tree, "a.h", "#define A 1\n")
		}, true},
		"a file that nothing includes": {nothing, file("inc/none.h", "#error\n"), true},
		"the tree elsewhere":           {nothing, func(a *ask, _ string) { elsewhere(t, a, "") }, true},
		"the tree elsewhere where paths count": {
			func(a *ask, _ string) { a.units[0].Code = []byte(oneSource + "char *p = __FILE__;\n") },
			func(a *ask, _ string) { elsewhere(t, a, "char *p = __FILE__;\n") }, false,
		},

		"the source":           {nothing, units(false, oneSource+"\n"), false},
		"what the source is":   {nothing, func(a *ask, _ string) { a.units[0].Kind = key.CUDACpp }, false},
		"order of a set":       {units(false, "int a;", "int b;"), units(false, "int b;", "int a;"), true},
		"order of a sequence":  {units(true, "int a;", "int b;"), units(true, "int b;", "int a;"), false},
		"a set and a sequence": {units(false, "int a;", "int b;"), units(true, "int a;", "int b;"), false},
		"one built and linked": {units(false, "int a;"), units(true, "int a;"), false},
		"a unit twice":         {units(false, "int a;", "int b;"), units(false, "int a;", "int b;", "int b;"), false},
		"two units as one":     {units(false, "int a;", "int b;"), units(false, "int a;int b;"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, root := t.TempDir(), filepath.Join(t.TempDir(), "root")
			putTree(t, tree)
			first, second := baseAsk(tree), baseAsk(tree)
			test.first(&first, tree)
			if first.compiles(t, root) == nil {
				t.Fatal("the first request is compiled")
			}
			if first.compiles(t, root) != nil {
				t.Fatal("the first request is compiled again")
			}
			test.second(&second, tree)
			if compiled := second.compiles(t, root) != nil; compiled == test.same {
				t.Errorf("compiled: %v, want %v", compiled, !test.same)
			}
			if second.compiles(t, root) != nil {
				t.Error("the second request is compiled again")
			}
		})
	}
}

func putTree(t *testing.T, tree string) {
	t.Helper()
	for name, content := range map[string]string{
		"a.h": "#define A 1\n", "inc/b.h": "#include \"c.h\"\n#define B C\n", "inc/c.h": "#define C 2\n",
	} {
		putInTree(t, tree, name, content)
	}
}

func putInTree(t *testing.T, tree, name, content string) {
	t.Helper()
	path := filepath.Join(tree, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// elsewhere has the same source, with more behind it, find the same header files in another place.
func elsewhere(t *testing.T, a *ask, more string) {
	t.Helper()
	tree := t.TempDir()
	putTree(t, tree)
	a.request.CompileOptions = baseAsk(tree).request.CompileOptions
	a.units[0].Code = []byte(oneSource + more)
}

// small makes a request without options.
func small(a *ask) {
	a.units[0].Code, a.request.CompileOptions = []byte("int a;"), ""
}

func swap[T any](two []T) { two[0], two[1] = two[1], two[0] }
