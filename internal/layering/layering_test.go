package layering

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kernstash/kernstash"

// floors are the floors of the house, from the ground up; the longest prefix
// of a package's path decides. A package imports packages of lower floors, and
// those of its own floor that stand under "beside".
var floors = map[string]int{
	"reason": 0, "key": 0, "deps": 0, "stats": 0, "internal": 0, "trust": 0,
	"store":               1,
	"agent":               1,
	"":                    2, // the root: the public API
	"gpu":                 3,
	"spool":               1,
	"bundle":              2, // of what the disk store has
	"worker":              3,
	"internal/engine":     1,
	"internal/cache":      1,
	"internal/capability": 1,
	"internal/inprocess":  2, // what front ends have in common
	"cmd":                 4,
	"capi":                4,
	"shim":                4,
	"scripts":             4,
	"docs":                4, // tests of what the documents show
}

// beside are the imports within a floor that the design asks for.
var beside = map[string][]string{
	"stats":               {"reason"},
	"key":                 {"internal/wire"},
	"deps":                {"deps", "key", "reason", "internal/ctime", "internal/pattern", "internal/wire"},
	"internal":            {"key", "reason", "store", "internal"},
	"internal/live":       {"stats"},
	"internal/cache":      {"internal/engine", "internal/live", "spool", "store", "agent/client"},
	"internal/capability": {"store"},
	"agent":               {"store", "agent"},
	"store/disk":          {"store", "spool"},
	"store/memory":        {"store"},
	"store/remote":        {"store"},
	"store/s3":            {"store"},
	"store/tiered":        {"store", "spool"},
	"store/redis":         {"store"},
	"store/http":          {"store"},
	"spool":               {"store"},
	"worker":              {"worker"},
	"store/storetest":     {"store"},
	"gpu/opencl":          {"gpu/opencl", "gpu/cuda", "gpu/tool"}, // NVIDIA's assembler is libcuda's
	"gpu/cuda":            {"gpu/cuda", "gpu/rtc", "gpu/tool"},
	"gpu/rtc":             {"gpu/rtc", "gpu/tool"},
	"gpu/levelzero":       {"gpu/levelzero", "gpu/tool"},
	"cmd":                 {"cmd"},
}

// alone are external modules that these packages may import, and no other.
var alone = map[string][]string{
	"github.com/ebitengine/purego": {"internal/dl"},
	"github.com/redis/go-redis":    {"store/redis"},
	"go.etcd.io/bbolt":             {"cmd/kernstash/internal/ledger"},
	"github.com/minio/minio-go":    {"store/s3", "internal/needs/versitygw"}, // which only tests use
}

// maxModules is the number of external modules that a program links which uses
// the root and gpu/opencl.
const maxModules = 6

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Standard   bool
	Module     *struct{ Path string }
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports,Standard,Module"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// within returns the path of a package of this module below the module's root.
func within(path string) (below string, ok bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func under(path, dir string) bool {
	return path == dir || dir == "" && path == "" || dir != "" && strings.HasPrefix(path, dir+"/")
}

// longest returns the key of m with the longest prefix of path.
func longest[V any](m map[string]V, path string) (best string, ok bool) {
	for dir := range m {
		if under(path, dir) && (!ok || len(dir) > len(best)) {
			best, ok = dir, true
		}
	}
	return best, ok
}

func TestFloors(t *testing.T) {
	t.Parallel()
	packages := list(t, "./...")
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	for _, p := range packages {
		from, _ := within(p.ImportPath)
		home, ok := longest(floors, from)
		if !ok {
			t.Errorf("%s is on no floor", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if to, ours := within(imported); ours {
				there, ok := longest(floors, to)
				if ok && floors[there] < floors[home] || isBeside(from, to) {
					continue
				}
				t.Errorf("%s (floor %d) imports %s (floor %d)", from, floors[home], to, floors[there])
				continue
			}
			if only, ok := longest(alone, imported); ok && !slices.Contains(alone[only], from) {
				t.Errorf("%s imports %s, which is for %s alone", from, imported, alone[only])
			}
		}
	}
}

// narrow are packages that may import nothing else of the module, whatever their
// floor allows.
var narrow = map[string][]string{
	"internal/live": {"internal/flight", "key", "stats"}, // it knows nothing of how programs are made
}

func TestNarrowPackages(t *testing.T) {
	t.Parallel()
	for from, allowed := range narrow {
		packages := list(t, "./"+from)
		if len(packages) != 1 {
			t.Fatalf("%d packages at %s", len(packages), from)
		}
		for _, imported := range packages[0].Imports {
			if to, ours := within(imported); ours && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s", from, to)
			}
		}
	}
}

// What uses the cache starts no process, unless it asks for a worker.
func TestRootStartsNothing(t *testing.T) {
	t.Parallel()
	all := list(t, "-deps", ".", "./gpu/opencl", "./gpu/opencl/layer", "./gpu/cuda", "./gpu/levelzero")
	if len(all) < 50 {
		t.Fatalf("only %d packages found", len(all))
	}
	for _, p := range all {
		if below, ours := within(p.ImportPath); p.ImportPath == "os/exec" || ours && under(below, "worker") {
			t.Errorf("%s is linked", p.ImportPath)
		}
	}
}

func isBeside(from, to string) bool {
	for dir, allowed := range beside {
		if under(from, dir) && slices.ContainsFunc(allowed, func(a string) bool { return under(to, a) }) {
			return true
		}
	}
	return false
}

// clients are the modules that speak to remotes.
var clients = []string{"github.com/redis/go-redis", "github.com/minio/minio-go"}

// TestClientsAreNotLinked: what runs in other people's processes speaks to no remote, and links
// nothing that could; neither does the worker's package, which Go programs link.
func TestClientsAreNotLinked(t *testing.T) {
	t.Parallel()
	all := list(t, "-deps", ".", "./gpu/opencl", "./gpu/opencl/layer", "./gpu/cuda", "./gpu/rtc/...", "./gpu/levelzero/layer",
		"./internal/inprocess", "./agent/client", "./capi", "./worker", "./store/remote", "./bundle", "./cmd/kernstash/kernstash-compile")
	if len(all) < 50 {
		t.Fatalf("only %d packages found", len(all))
	}
	for _, p := range all {
		below, ours := within(p.ImportPath)
		if p.Module != nil && slices.ContainsFunc(clients, func(c string) bool { return under(p.Module.Path, c) }) ||
			ours && (under(below, "store/redis") || under(below, "store/s3") || under(below, "store/http")) {
			t.Errorf("%s is linked", p.ImportPath)
		}
	}
	// The command links them, so that the names above are theirs.
	linked := list(t, "-deps", "./cmd/kernstash")
	for _, c := range clients {
		if !slices.ContainsFunc(linked, func(p listed) bool { return p.Module != nil && under(p.Module.Path, c) }) {
			t.Errorf("the command does not link %s", c)
		}
	}
	for _, p := range list(t, "./...") {
		from, _ := within(p.ImportPath)
		for _, imported := range p.Imports {
			to, _ := within(imported)
			engine := to == "store/redis" || to == "store/s3" || to == "store/http"
			if engine && from != "cmd/kernstash/internal/remotes" {
				t.Errorf("%s imports %s, which is for cmd/kernstash/internal/remotes alone", from, to)
			}
		}
	}
}

// TestLittleStartsCompilers: what compilers are started through links no runtime, whose libraries would have to be opened
// by a dynamic linker (docs/decisions/209-command-of-compilers.md).
func TestLittleStartsCompilers(t *testing.T) {
	t.Parallel()
	all := list(t, "-deps", "./cmd/kernstash/kernstash-compile")
	if len(all) < 100 || len(all) > 220 {
		t.Errorf("%d packages are linked, want 100 to 220", len(all))
	}
	for _, p := range all {
		if below, ours := within(p.ImportPath); ours && under(below, "gpu") || p.Module != nil && p.Module.Path == "github.com/ebitengine/purego" {
			t.Errorf("%s is linked", p.ImportPath)
		}
	}
}

// TestNothingIsFormattedAtStart: no package that is linked into other people's processes calls package fmt
// when it is initialized, which a first hit would wait for (docs/decisions/206-what-a-first-hit-touches.md).
func TestNothingIsFormattedAtStart(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, p := range list(t, "-deps", "./capi") {
		if _, ours := within(p.ImportPath); !ours {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			looked++
			for _, call := range formatsAtStart(f) {
				t.Errorf("%s calls package fmt when it is initialized", fset.Position(call.Pos()))
			}
		}
	}
	if looked < 100 {
		t.Fatalf("only %d files found", looked)
	}
}

// formatsAtStart returns the calls of package fmt in the values of a file's variables.
func formatsAtStart(f *ast.File) (calls []*ast.CallExpr) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.VAR {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if of, ok := call.Fun.(*ast.SelectorExpr); ok {
					if x, ok := of.X.(*ast.Ident); ok && x.Name == "fmt" {
						calls = append(calls, call)
					}
				}
			}
			_, later := n.(*ast.FuncLit)
			return !later
		})
	}
	return calls
}

func TestFewModulesAreLinked(t *testing.T) {
	t.Parallel()
	modules := make(map[string]bool)
	for _, p := range list(t, "-deps", ".", "./gpu/opencl") {
		if !p.Standard && p.Module != nil && p.Module.Path != module {
			modules[p.Module.Path] = true
		}
	}
	for path := range modules {
		if slices.ContainsFunc(clients, func(c string) bool { return under(path, c) }) {
			t.Errorf("%s is linked", path)
		}
	}
	if len(modules) > maxModules {
		t.Errorf("%d external modules are linked, at most %d may be: %v", len(modules), maxModules, modules)
	}
	t.Logf("external modules: %v", modules)
}
