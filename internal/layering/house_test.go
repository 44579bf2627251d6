package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// testSupport are the folders outside product code: other modules, and packages
// that only tests import.
var testSupport = []string{
	"bench", "test", "examples", "tools", "scripts", "store/storetest", "store/remote/remotetest", "shim/opencl/internal/stage",
	"internal/cbuild", "internal/faultfs", "internal/layering", "internal/needs", "internal/ownmounts", "internal/pty", "internal/servers", "internal/timing",
}

// isProduct reports whether a file, or a folder, with this path below the
// module's root belongs to product code.
func isProduct(path string) bool {
	supports := slices.ContainsFunc(testSupport, func(dir string) bool { return under(path, dir) })
	return !supports && !strings.HasSuffix(path, "_test.go") && !strings.Contains("/"+path+"/", "/testdata/")
}

// A goPackage is a package of product code on this system, with its types.
type goPackage struct {
	path  string // below the module's root; "" is the root
	files []*ast.File
	types *types.Package
	info  *types.Info
	deps  []string // import paths of all that it links
}

// A house is what the rules look at.
type house struct {
	fset     *token.FileSet
	packages []*goPackage
	lines    map[string]int    // of each product file in Go, C or assembly, on every system
	code     map[string]string // the same files without comments
}

var built = sync.OnceValues(build)

// theHouse returns the product code, which is read and checked once for all tests.
func theHouse(t *testing.T) *house {
	t.Helper()
	h, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func build() (*house, error) {
	h := &house{fset: token.NewFileSet(), lines: make(map[string]int), code: make(map[string]string)}
	if err := h.read(); err != nil {
		return nil, err
	}
	return h, h.check()
}

// comments matches what the rules about names ignore. Literals that look like a
// comment are rare enough for a count.
var comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

// languages are named after runtimes, and are none.
var languages = regexp.MustCompile(`OpenCL ?C\b|OPENCL_C\b|CUDA ?C(\+\+|pp)`)

func (h *house) read() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			// Git does not keep what is built into these.
			if rel != "." && (!isProduct(rel) || strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "lib", "dist", "share", "build"}, rel)) {
				return fs.SkipDir
			}
			return nil
		}
		if !isProduct(rel) || !slices.Contains([]string{".go", ".c", ".h", ".s"}, filepath.Ext(rel)) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h.lines[rel] = bytes.Count(b, []byte("\n"))
		h.code[rel] = languages.ReplaceAllString(string(comments.ReplaceAll(b, nil)), "")
		return nil
	})
}

// check reads the types of each package from its source, and those of what it
// imports from what the compiler exported.
func (h *house) check() error {
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles, CgoFiles, Deps []string
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Deps", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return errors.New("go list: " + err.Error() + "\n" + stderr.String())
	}
	exports := make(map[string]string)
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		if path, ok := within(p.ImportPath); ok && isProduct(path) && len(p.GoFiles)+len(p.CgoFiles) > 0 {
			ours = append(ours, p)
		}
	}
	imports := importer.ForCompiler(h.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, l := range ours {
		p := &goPackage{deps: l.Deps, info: &types.Info{
			Defs:  make(map[*ast.Ident]types.Object),
			Uses:  make(map[*ast.Ident]types.Object),
			Types: make(map[ast.Expr]types.TypeAndValue),
		}}
		p.path, _ = within(l.ImportPath)
		for _, name := range append(l.GoFiles, l.CgoFiles...) {
			f, err := parser.ParseFile(h.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			p.files = append(p.files, f)
		}
		// With a C that is not looked at, some expressions of capi have no type.
		conf := types.Config{Importer: imports, FakeImportC: true}
		if len(l.CgoFiles) > 0 {
			conf.Error = func(error) {}
		}
		if p.types, err = conf.Check(l.ImportPath, h.fset, p.files, p.info); err != nil && conf.Error == nil {
			return err
		}
		h.packages = append(h.packages, p)
	}
	return nil
}

// packageLines returns the lines of each folder with a Go package, on every system.
func (h *house) packageLines() map[string]int {
	sum := make(map[string]int)
	for _, p := range h.packages {
		sum[p.path] = 0
	}
	for file, n := range h.lines {
		if _, ok := sum[folder(file)]; ok {
			sum[folder(file)] += n
		}
	}
	return sum
}

func folder(file string) string {
	if dir, _, ok := cutLast(file, "/"); ok {
		return dir
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// cycle returns the names of the files of p in its largest cycle of static
// references: to functions, methods, types, variables and constants of the
// package, not to fields.
func (h *house) cycle(p *goPackage) []string {
	file := func(pos token.Pos) string { return filepath.Base(h.fset.Position(pos).Filename) }
	refers := make(map[string]map[string]bool)
	for _, f := range p.files {
		to := make(map[string]bool)
		refers[file(f.Pos())] = to
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if o := p.info.Uses[id]; o != nil && o.Pkg() == p.types && isDeclaration(o) {
				to[file(o.Pos())] = true
			}
			return true
		})
	}
	reach := make(map[string]map[string]bool)
	for f := range refers {
		reach[f] = make(map[string]bool)
		visit(refers, f, reach[f])
	}
	var largest []string
	for f := range refers {
		var with []string
		for g := range reach[f] {
			if reach[g][f] {
				with = append(with, g)
			}
		}
		slices.Sort(with)
		if len(with) > len(largest) || len(with) == len(largest) && slices.Compare(with, largest) < 0 {
			largest = with
		}
	}
	return largest
}

func visit(refers map[string]map[string]bool, from string, seen map[string]bool) {
	for to := range refers[from] {
		if !seen[to] {
			seen[to] = true
			visit(refers, to, seen)
		}
	}
}

// isDeclaration reports whether o is declared at package level, or a method.
func isDeclaration(o types.Object) bool {
	if o.Parent() == o.Pkg().Scope() {
		return true
	}
	_, isFunc := o.(*types.Func)
	return isFunc
}

// hooks returns the package-level variables of function or interface type that
// any function assigns.
func (h *house) hooks() []string {
	found := make(map[string]bool)
	for _, p := range h.packages {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				assign, ok := n.(*ast.AssignStmt)
				if !ok {
					return true
				}
				for _, to := range assign.Lhs {
					if sel, ok := to.(*ast.SelectorExpr); ok {
						to = sel.Sel
					}
					id, ok := to.(*ast.Ident)
					if !ok {
						continue
					}
					v, ok := p.info.Uses[id].(*types.Var)
					if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
						continue
					}
					switch v.Type().Underlying().(type) {
					case *types.Signature, *types.Interface:
						found[v.Pkg().Path()+"."+v.Name()+", in "+p.path] = true
					}
				}
				return true
			})
		}
	}
	return sorted(found)
}

func sorted(set map[string]bool) []string {
	var all []string
	for s := range set {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// A runtime is what the rule about names knows of one.
type runtime struct {
	name string
	word *regexp.Regexp
	own  []string // its folders
}

var runtimes = []runtime{
	{"OpenCL", regexp.MustCompile(`(?i)opencl`), []string{"gpu/opencl", "shim/opencl"}},
	{"Level Zero", regexp.MustCompile(`(?i)level.?zero`), []string{"gpu/levelzero", "shim/levelzero"}},
	{"NVRTC", regexp.MustCompile(`(?i)nvrtc`), []string{"gpu/rtc", "gpu/cuda", "shim/rtc", "shim/nvrtc"}},
	{"HIPRTC", regexp.MustCompile(`(?i)hiprtc`), []string{"gpu/rtc", "shim/rtc", "shim/hiprtc"}},
	{"nvJitLink", regexp.MustCompile(`(?i)nvjitlink`), []string{"gpu/rtc", "gpu/cuda", "shim/rtc", "shim/nvjitlink"}},
	{"libnvvm", regexp.MustCompile(`(?i)nvvm`), []string{"gpu/rtc", "gpu/cuda", "shim/rtc", "shim/nvvm"}},
	{"CUDA", regexp.MustCompile(`(?i)cuda`), []string{"gpu/cuda", "gpu/rtc", "shim/rtc", "shim/nvrtc"}},
}

// facts are files that name runtimes and that no further runtime adds to, or that list facts
// about drivers; docs/decisions/139-runtimes-are-named.md says why.
var facts = []string{
	"capi/kernstash.h", "capi/front/device.c", "capi/stub", // C's public API has a function for devices of OpenCL
	"key/recipe.go",                          // what is canonical in the options of an API; part of each key
	"internal/drivers",                       // files and variables of drivers, by name
	"cmd/kernstash/internal/caches/rules.go", // where drivers and frameworks keep their own caches
	"gpu/levelzero/tool",                     // Debian's package of the driver has the other runtime's name
	"gpu/opencl/internal/driver",             // NVIDIA's driver finishes with the assembler of the other runtime
}

// places returns the product files outside of a runtime's own folders, and of facts, whose
// code names it.
func (h *house) places(r runtime) []string {
	found := make(map[string]bool)
	for file, code := range h.code {
		own := slices.ContainsFunc(slices.Concat(r.own, facts), func(dir string) bool { return under(file, dir) })
		if !own && (r.word.MatchString(code) || r.word.MatchString(file)) {
			found[file] = true
		}
	}
	return sorted(found)
}

// exported returns the exported names of the root package: what is declared
// there, and the methods of its types.
func (h *house) exported() []string {
	found := make(map[string]bool)
	i := slices.IndexFunc(h.packages, func(p *goPackage) bool { return p.path == "" })
	for _, o := range h.packages[i].info.Defs {
		if o == nil || !o.Exported() || !isDeclaration(o) {
			continue
		}
		name := o.Name()
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
			of := f.Signature().Recv().Type()
			if p, ok := of.(*types.Pointer); ok {
				of = p.Elem()
			}
			named, ok := of.(*types.Named)
			if !ok || !named.Obj().Exported() {
				continue
			}
			name = named.Obj().Name() + "." + name
		}
		found[name] = true
	}
	return sorted(found)
}
