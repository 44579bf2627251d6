package kernstash_test

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// A link option that looks like data of run-time compilers' requests is an option like all
// others: it is in the key, and the build gets it in its place.
func TestLinkOptionsLikePlaces(t *testing.T) {
	t.Parallel()
	for _, kind := range []key.Kind{key.Opaque, key.PTX, key.OpenCLC, key.CUDACpp, key.HIPCpp} {
		for _, word := range []string{"place=", "parent=", "name=", "expression=", "directory="} {
			root := filepath.Join(t.TempDir(), "root")
			for _, value := range []string{"near", "far"} {
				a := ask{device: key.Device{API: "own"}, units: []key.Unit{{Kind: kind, Code: []byte("void k() {}\n")}}}
				a.request.LinkOptions = "-first " + word + value + " -last"
				recipe := a.compiles(t, root)
				if recipe == nil {
					t.Errorf("%v: %s%s is not compiled", kind, word, value)
				} else if o := recipe.Options; o.LinkString() != a.request.LinkOptions || len(o.Search)+len(o.Attributes) > 0 {
					t.Errorf("%v: the build of %q gets %q, %q and %q", kind, a.request.LinkOptions, o.LinkString(), o.Search, o.Attributes)
				}
			}
		}
	}
}

// Attributes are in the key: in any order, but those of one name in theirs; those that the
// caller has said not to count are not.
func TestAttributes(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	pairs := func(texts ...string) (p []key.Pair) {
		for i := 0; i < len(texts); i += 2 {
			p = append(p, key.Pair{Name: texts[i], Value: texts[i+1]})
		}
		return p
	}
	for _, step := range []struct {
		attributes, out, keyed, unkeyed []key.Pair
		hit                             bool
	}{
		{},
		{hit: true},
		{attributes: pairs("b", "1", "a", "3", "a", "2"), keyed: pairs("a", "3", "a", "2", "b", "1")},
		{attributes: pairs("a", "3", "a", "2", "b", "1"), hit: true},
		{attributes: pairs("a", "3", "b", "1", "a", "2"), hit: true},
		{attributes: pairs("a", "2", "a", "3", "b", "1"), keyed: pairs("a", "2", "a", "3", "b", "1")},
		{attributes: pairs("a", "2"), keyed: pairs("a", "2")},
		{attributes: pairs("a", ""), keyed: pairs("a", "")},
		{attributes: pairs("a", "2"), out: pairs(deps.SourceDirectory, "/x/"), hit: true},
		{attributes: pairs("a", "4"), out: pairs(deps.SourceDirectory, "/x/"), keyed: pairs("a", "4"), unkeyed: pairs(deps.SourceDirectory, "/x/")},
		{attributes: pairs("a", "4"), hit: true},
		// The code may depend on it: nobody has said that it does not.
		{attributes: pairs("a", "4", deps.SourceDirectory, "/x/"), keyed: pairs("a", "4", deps.SourceDirectory, "/x/")},
		{attributes: pairs("a", "4", deps.SourceDirectory, "/y/"), keyed: pairs("a", "4", deps.SourceDirectory, "/y/")},
	} {
		a := ask{device: key.Device{API: "own"}, units: []key.Unit{{Kind: key.CUDACpp, Code: []byte("void k() {}\n")}}}
		a.request.Attributes, a.request.Unkeyed = step.attributes, step.out
		given := slices.Clone(step.attributes)
		recipe := a.compiles(t, root)
		if !slices.Equal(given, a.request.Attributes) {
			t.Errorf("%q became %q", given, a.request.Attributes)
		}
		if hit := recipe == nil; hit != step.hit {
			t.Errorf("%q: hit is %v", step.attributes, hit)
		} else if !hit && (!slices.Equal(recipe.Options.Attributes, step.keyed) || !slices.Equal(recipe.Options.Unkeyed, step.unkeyed)) {
			t.Errorf("%q: the build gets %q, and %q that are not in the key", step.attributes, recipe.Options.Attributes, recipe.Options.Unkeyed)
		}
	}
}

// besideCompiler looks for header files where an attribute says that the source is.
type besideCompiler struct{ kernstash.Compiler }

func (besideCompiler) HeaderSearch(_ int, _ string, r kernstash.Request) (deps.Search, error) {
	dir, _ := key.Attribute(r.Attributes, deps.SourceDirectory)
	return deps.Search{Main: dir}, nil
}

// Where a compiler looks for header files may depend on the request: one context serves
// programs of one image that find theirs in several directories.
func TestHeaderSearchOfARequest(t *testing.T) {
	t.Parallel()
	cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	compiled := false
	x := kernstash.NewContext(cache, besideCompiler{kernstash.Compiler{
		Device: key.Device{API: "own"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			compiled = true
			return []byte(r.Image.Units()[0].Files[0].Digest.String()), nil
		},
	}}, kernstash.ContextOptions{})
	defer x.Close()
	image, err := kernstash.NewImage(key.CUDACpp, []byte("#include \"a.h\"\nint x = A;\n"))
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for _, step := range []struct {
		dir, content string
		compiles     bool
	}{{"one", "#define A 1\n", true}, {"two", "#define A 2\n", true}, {"one", "#define A 1\n", false}, {"three", "#define A 2\n", false}} {
		dir := filepath.Join(tree, step.dir) + "/"
		putInTree(t, dir, "a.h", step.content)
		compiled = false
		p, err := x.Program(t.Context(), kernstash.Request{Image: image, Attributes: []key.Pair{{Name: deps.SourceDirectory, Value: dir}}})
		if err != nil {
			t.Fatal(err)
		}
		want := key.Digest(sha256.Sum256([]byte(step.content)))
		if code, err := p.Native(0); err != nil || string(code) != want.String() || compiled != step.compiles {
			t.Errorf("%s: compiled of %s, want %s; now: %v; %v", step.dir, code, want, compiled, err)
		}
		p.Release()
		cache.Flush(time.Minute)
	}
}
