package key

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullUnits are a unit without headers, one with headers in memory, one that
// reads files, and one whose code depends on where they are.
func fullUnits() []Unit {
	file := func(path, content string, includes ...Include) File {
		return File{path, sha256.Sum256([]byte(content)), int64(len(content)), includes}
	}
	return []Unit{
		{Kind: OpenCLC, Code: []byte("int f(void) { return 1; }")},
		{Kind: OpenCLC, Code: []byte("#include \"a.h\"\nkernel void k() {}"), Headers: []Header{
			{"a.h", []byte("#include \"b.h\"")}, {"b.h", []byte{0, 1}},
		}},
		{
			Kind: OpenCLC, Code: []byte("#include \"x.h\"\n#include <none.h>\n#include \"y.h\"\n"),
			Includes: []Include{{`"x.h"`, 0}, {`<none.h>`, -1}, {`"y.h"`, 2}},
			Files: []File{
				file("/in/x.h", "#include \"z.h\"\n", Include{`"z.h"`, 1}), file("/in/z.h", "int z;\n"),
				file("/in/y.h", "#include \"x.h\"\n", Include{`"x.h"`, 0}),
			},
		},
		{
			Kind: OpenCLC, Code: []byte("#include \"p.h\"\n"), Dir: "/src",
			Includes: []Include{{`"p.h"`, 0}}, Files: []File{file("/src/p.h", "__FILE__\n")},
		},
	}
}

// fullRecipe uses every field there is.
func fullRecipe(t testing.TB) *Recipe {
	t.Helper()
	img, err := new(Image).Tracked(fullUnits())
	if err != nil {
		t.Fatal(err)
	}
	constants, err := NewConstants(Uint32(7, 1), SpecConstant{ID: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &Recipe{
		Device: Device{
			API: "opencl", Platform: "Portable Computing Language", Name: "pthread-skylake",
			Version: "OpenCL 3.0", Driver: "3.1",
			Traits:   []Pair{{"vendor", "0x10006"}, {"cpu-flags", "avx avx2"}},
			Compiler: []Pair{{"libpocl.so.2", "ab12"}, {"libLLVM-15.so.1", "cd34"}},
		},
		Image:     img,
		Constants: constants,
		Options: BuildOptions{
			Compile: []string{"-DN=4", "-cl-fast-relaxed-math"}, Link: []string{"-create-library"},
			Variables:  []Pair{{"POCL_X", "1"}, {"A", ""}},
			Attributes: []Pair{{"name", "a.cu"}, {"expression", "k<2>"}, {"expression", "k<1>"}, {"empty", ""}},
			Search:     []string{"-I", "/in"},
			Unkeyed:    []Pair{{"source directory", "/in/"}},
		},
	}
}

// sequenceOf returns the image of units that are linked in this order.
func sequenceOf(t testing.TB, units ...Unit) *Image {
	t.Helper()
	m, err := NewImageSequence(units...)
	if err == nil {
		m, err = m.Tracked(units)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sequenceRecipe is fullRecipe of units that are compiled each and linked in order.
func sequenceRecipe(t testing.TB) *Recipe {
	t.Helper()
	r := fullRecipe(t)
	r.Image = sequenceOf(t, fullUnits()...)
	return r
}

func smallRecipe(t testing.TB) *Recipe {
	t.Helper()
	img, err := NewImage(Opaque, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	return &Recipe{Image: img, Options: BuildOptions{Absent: true}}
}

// Golden keys: a change of any of them makes every cache in the world cold and
// is a change of Schema. The values were computed by a program of another
// language that was written from docs/FORMAT.md, not by this package.
func TestGoldenKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		recipe *Recipe
		want   [5]string // device, image, constants, options, sum
	}{
		{"every field", fullRecipe(t), [5]string{
			"4d4018b275d3ed096cd53c431f0df290a4615d7db83c9f0c8c19beb0bc4eadc3",
			"f298c1028c64ebd7ee9bcb8ee257cc023d5252fd9a0bd110a0cfd6766c3cc49c",
			"b8f2ffcb3419cc728249ea3ff0509458012877959ff8ebfa0d3d5d49ed7f3a86",
			"f67686234f725da36d1c66f66fd0f6ece81d9c6407bf4a2935884fcaa706fd5e",
			"f7ec65995f716098d01dde41d01757dbe6f033465a77cb0cdb69740f48e7b05b",
		}},
		{"a sequence", sequenceRecipe(t), [5]string{
			"4d4018b275d3ed096cd53c431f0df290a4615d7db83c9f0c8c19beb0bc4eadc3",
			"ebc6aae1916ff92d8a9ce8af78eef21b6453d046570a15c108703a0be91c6653",
			"b8f2ffcb3419cc728249ea3ff0509458012877959ff8ebfa0d3d5d49ed7f3a86",
			"f67686234f725da36d1c66f66fd0f6ece81d9c6407bf4a2935884fcaa706fd5e",
			"9d2261c767f4c920310473fb936070d7e52b28acd730295c0d2e7c86d2e8eb44",
		}},
		{"almost nothing", smallRecipe(t), [5]string{
			"4221c28e85fdf731cc6b9023057db9957c1d43f39df6c56e4be6148aff7b1321",
			"0b44e40c39a60c8593dad7fff2851ad6640045cb438c57cde8dffb3613462652",
			"d6a5190a29139c4e98e7266a5d61f1913882f3711c6d08ec80ea6468e36b1e18",
			"182e709258ac84576cd60a497ab860874e3e1c4d26a5bb686fb0eab263e1e1f2",
			"f744d7bd7b8bf165fd3c71ef05a621700c846e148c36d760a1b3d1023695ed97",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := tt.recipe.Key()
			got := [5]string{k.Device.String(), k.Image.String(), k.Constants.String(), k.Options.String(), k.Sum.String()}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
			if k.String() != tt.want[4] || k.Short() != tt.want[4][:12] || k.Dirs()[0] != tt.want[0][:32] {
				t.Errorf("printed as %s, %s, %v", k, k.Short(), k.Dirs())
			}
		})
	}
}

// Compute Runtime: the same inputs make the same hash, and changing any single
// one changes it; here besides only the component that it belongs to.
func TestEveryInputCounts(t *testing.T) {
	t.Parallel()
	base := fullRecipe(t).Key()
	image := func(units ...Unit) func(*Recipe) {
		return func(r *Recipe) {
			m, err := new(Image).Tracked(units)
			if err != nil {
				t.Fatal(err)
			}
			r.Image = m
		}
	}
	u := fullUnits()
	const plain, headers, tracked, located = 0, 1, 2, 3 // see fullUnits
	with := func(i int, change func(*Unit)) []Unit {
		units := fullUnits()
		change(&units[i])
		return units
	}
	tests := []struct {
		name      string
		change    func(*Recipe)
		component string
	}{
		{"api", func(r *Recipe) { r.Device.API = "cuda" }, "device"},
		{"platform", func(r *Recipe) { r.Device.Platform += "x" }, "device"},
		{"device name", func(r *Recipe) { r.Device.Name += "x" }, "device"},
		{"device version", func(r *Recipe) { r.Device.Version += "x" }, "device"},
		{"driver version", func(r *Recipe) { r.Device.Driver += "x" }, "device"},
		{"a text moved to the next field", func(r *Recipe) {
			r.Device.Platform, r.Device.Name = r.Device.Platform+r.Device.Name[:1], r.Device.Name[1:]
		}, "device"},
		{"trait", func(r *Recipe) { r.Device.Traits[0].Value = "0x8086" }, "device"},
		{"trait left out", func(r *Recipe) { r.Device.Traits = r.Device.Traits[:1] }, "device"},
		{"compiler", func(r *Recipe) { r.Device.Compiler[1].Value = "cd35" }, "device"},
		{"a trait as compiler", func(r *Recipe) {
			r.Device.Compiler = append(r.Device.Compiler, r.Device.Traits[1])
			r.Device.Traits = r.Device.Traits[:1]
		}, "device"},
		{"code", image(with(plain, func(u *Unit) { u.Code = append(u.Code[:len(u.Code):len(u.Code)], 0) })...), "image"},
		{"kind", image(with(plain, func(u *Unit) { u.Kind = CUDACpp })...), "image"},
		{"header content", image(with(headers, func(u *Unit) { u.Headers[0].Content = []byte("x") })...), "image"},
		{"header name", image(with(headers, func(u *Unit) { u.Headers[0].Name = "c.h" })...), "image"},
		{"header left out", image(with(headers, func(u *Unit) { u.Headers = u.Headers[:1] })...), "image"},
		{"file content", image(with(tracked, func(u *Unit) { u.Files[1].Digest[0]++ })...), "image"},
		{"include name", image(with(tracked, func(u *Unit) { u.Includes[2].Name = `<y.h>` })...), "image"},
		{"include name in a file", image(with(tracked, func(u *Unit) { u.Files[0].Includes[0].Name = `<z.h>` })...), "image"},
		{"an include that finds nothing", image(with(tracked, func(u *Unit) { u.Includes = slices.Delete(u.Includes, 1, 2) })...), "image"},
		{"an include that finds something", image(with(tracked, func(u *Unit) { u.Includes[1].File = 0 })...), "image"},
		{"an include that finds another file", image(with(tracked, func(u *Unit) { u.Files[2].Includes[0].File = 1 })...), "image"},
		{"an include of a file left out", image(with(tracked, func(u *Unit) { u.Files[2].Includes = nil })...), "image"},
		{"path where it counts", image(with(located, func(u *Unit) { u.Files[0].Path = "/src2/p.h" })...), "image"},
		{"working directory where it counts", image(with(located, func(u *Unit) { u.Dir = "/src2" })...), "image"},
		{"paths that begin to count", image(with(tracked, func(u *Unit) { u.Dir = "/src" })...), "image"},
		{"unit left out", image(u[:3]...), "image"},
		{"units that are linked in order", func(r *Recipe) { r.Image = sequenceOf(t, u...) }, "image"},
		{"another order of those", func(r *Recipe) { r.Image = sequenceOf(t, u[1], u[0], u[2], u[3]) }, "image"},
		{"one unit", image(u[0]), "image"},
		{"one unit that is linked", func(r *Recipe) { r.Image = sequenceOf(t, u[0]) }, "image"},
		{"unit twice", image(append(fullUnits(), u[1])...), "image"},
		{"constant value", func(r *Recipe) { r.Constants[1].Value = []byte{2, 0, 0, 0} }, "constants"},
		{"constant width", func(r *Recipe) { r.Constants[1].Value = append(r.Constants[1].Value, 0) }, "constants"},
		{"constant id", func(r *Recipe) { r.Constants[1].ID = 8 }, "constants"},
		{"a prefix of the constants", func(r *Recipe) { r.Constants = r.Constants[:1] }, "constants"},
		{"option", func(r *Recipe) { r.Options.Compile[0] = "-DN=5" }, "options"},
		{"order of options", func(r *Recipe) {
			c := r.Options.Compile
			c[0], c[1] = c[1], c[0]
			r.Options.Compile = append([]string{"-DN=3"}, c...)
		}, "options"},
		{"order of definitions of one macro", func(r *Recipe) { r.Options.Compile = append(r.Options.Compile, "-DN=3") }, "options"},
		{"two options as one", func(r *Recipe) { r.Options.Compile = []string{r.Options.CompileString()} }, "options"},
		{"compile option as link option", func(r *Recipe) {
			r.Options.Link = append([]string{r.Options.Compile[1]}, r.Options.Link...)
			r.Options.Compile = r.Options.Compile[:1]
		}, "options"},
		{"none given", func(r *Recipe) { r.Options.Absent = true }, "options"},
		{"no link options given", func(r *Recipe) { r.Options.LinkAbsent = true }, "options"},
		{"variable", func(r *Recipe) { r.Options.Variables[0].Value = "2" }, "options"},
		{"variable unset", func(r *Recipe) { r.Options.Variables = r.Options.Variables[:1] }, "options"},
		{"attribute", func(r *Recipe) { r.Options.Attributes[0].Value = "b.cu" }, "options"},
		{"attribute left out", func(r *Recipe) { r.Options.Attributes = r.Options.Attributes[:3] }, "options"},
		{"attribute twice", func(r *Recipe) { r.Options.Attributes = append(r.Options.Attributes, r.Options.Attributes[0]) }, "options"},
		{"order of attributes of one name", func(r *Recipe) {
			a := r.Options.Attributes
			a[1], a[2] = a[2], a[1]
		}, "options"},
		{"a variable as attribute", func(r *Recipe) {
			r.Options.Attributes = append(r.Options.Attributes, r.Options.Variables[0])
			r.Options.Variables = r.Options.Variables[1:]
		}, "options"},
		{"an attribute that begins to count", func(r *Recipe) {
			r.Options.Attributes = append(r.Options.Attributes, r.Options.Unkeyed...)
			r.Options.Unkeyed = nil
		}, "options"},
	}
	seen := map[Digest]string{base.Sum: "base"}
	for _, tt := range tests {
		r := fullRecipe(t)
		tt.change(r)
		k := r.Key()
		if before, twice := seen[k.Sum]; twice {
			t.Errorf("%s: same key as %s", tt.name, before)
		}
		seen[k.Sum] = tt.name
		var changed []string
		for _, c := range []struct {
			name string
			a, b Digest
		}{
			{"device", base.Device, k.Device},
			{"image", base.Image, k.Image},
			{"constants", base.Constants, k.Constants},
			{"options", base.Options, k.Options},
		} {
			if c.a != c.b {
				changed = append(changed, c.name)
			}
		}
		if diff := cmp.Diff([]string{tt.component}, changed); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", tt.name, diff)
		}
	}
}

// DPC++ 2: several images are found whatever their order. Likewise headers,
// traits, libraries, variables.
func TestOrderOfSetsDoesNotCount(t *testing.T) {
	t.Parallel()
	a, b := fullRecipe(t), fullRecipe(t)
	u := fullUnits()
	slices.Reverse(u)
	var err error
	if b.Image, err = new(Image).Tracked(u); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]Pair{b.Device.Traits, b.Device.Compiler, b.Options.Variables} {
		p[0], p[1] = p[1], p[0]
	}
	// Attributes of other names too; those of one name keep their order.
	b.Options.Attributes = []Pair{{"empty", ""}, {"expression", "k<2>"}, {"name", "a.cu"}, {"expression", "k<1>"}}
	if a.Key() != b.Key() {
		t.Error("another order made another key")
	}
	if diff := cmp.Diff(a.Append(nil), b.Append(nil)); diff != "" {
		t.Errorf("another order made another encoding:\n%s", diff)
	}
}

// The same files elsewhere, found by other options, are the same build, unless
// it depends on paths.
func TestPathsDoNotCount(t *testing.T) {
	t.Parallel()
	a, b := fullRecipe(t), fullRecipe(t)
	units := fullUnits()
	for i := range units[2].Files {
		units[2].Files[i].Path = "/else" + units[2].Files[i].Path
	}
	var err error
	if b.Image, err = new(Image).Tracked(units); err != nil {
		t.Fatal(err)
	}
	b.Options.Search = []string{"-I/else/in"}
	b.Options.Unkeyed = []Pair{{"source directory", "/else/in/"}}
	if a.Key() != b.Key() {
		t.Error("another place made another key")
	}
	if got := b.Options.CompileString(); got != "-I/else/in -DN=4 -cl-fast-relaxed-math" {
		t.Errorf("the driver is given %q", got)
	}
}

// One order of files is the right one.
func TestFilesAreNumberedAsReached(t *testing.T) {
	t.Parallel()
	to := func(n ...int) []Include {
		var out []Include
		for _, f := range n {
			out = append(out, Include{"<h>", f})
		}
		return out
	}
	files := func(includes ...[]Include) []File {
		out := make([]File, len(includes))
		for i := range out {
			out[i].Includes = includes[i]
		}
		return out
	}
	tests := []struct {
		name     string
		includes []Include
		files    []File
		ok       bool
	}{
		{"none", nil, nil, true},
		{"no such file", to(-1), nil, true},
		{"depth first", to(0, 2), files(to(1), nil, nil), true},
		{"breadth first", to(0, 1), files(to(2), nil, nil), false},
		{"a circle", to(0), files(to(1), to(0, 1)), true},
		{"again", to(0, 1, 0, 1), files(nil, to(0)), true},
		{"too soon", to(1, 0), files(nil, nil), false},
		{"out of range", to(0, 1), files(nil), false},
		{"below range", to(-2), nil, false},
		{"never reached", to(0), files(nil, nil), false},
		{"reached by itself alone", nil, files(to(0)), false},
	}
	for _, tt := range tests {
		units := []Unit{{Kind: OpenCLC, Code: []byte("x"), Includes: tt.includes, Files: tt.files}}
		if _, err := new(Image).Tracked(units); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		r := smallRecipe(t)
		r.Image = newImage(units, false)
		if _, err := ParseRecipe(r.Append(nil)); (err == nil) != tt.ok {
			t.Errorf("%s, read back: %v", tt.name, err)
		}
	}
	if _, err := new(Image).Tracked(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("no units: %v", err)
	}
}

// TestTrackedImageCopiesTheSlice: an image sorts its units, and what it was given stays in order.
func TestTrackedImageCopiesTheSlice(t *testing.T) {
	t.Parallel()
	a, b := Unit{Kind: OpenCLC, Code: []byte("a")}, Unit{Kind: OpenCLC, Code: []byte("b")}
	for _, given := range [][]Unit{{a, b}, {b, a}} {
		want := slices.Clone(given)
		if _, err := new(Image).Tracked(given); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, given); d != "" {
			t.Errorf("the caller's units changed:\n%s", d)
		}
	}
}

// DPC++ 1: keys with NUL bytes round-trip.
func TestRecipeRoundTrip(t *testing.T) {
	t.Parallel()
	nul := smallRecipe(t)
	nul.Device.Name = "a\x00b"
	nul.Options.Compile = []string{"\x00", ""}
	nul.Constants = Constants{{1, []byte{0, 0}}}
	turned := sequenceRecipe(t)
	u := fullUnits()
	slices.Reverse(u)
	turned.Image = sequenceOf(t, u...)
	if got := turned.Image.Units(); !turned.Image.IsSequence() || !bytes.Equal(got[0].Code, u[0].Code) || !bytes.Equal(got[3].Code, u[3].Code) {
		t.Errorf("a sequence has its units in another order: %s", got[0].Code)
	}
	for name, r := range map[string]*Recipe{
		"full": fullRecipe(t), "small": smallRecipe(t), "NUL": nul, "sequence": sequenceRecipe(t), "turned": turned,
	} {
		got, err := ParseRecipe(r.Append(nil))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Key() != r.Key() || got.String() != r.String() {
			t.Errorf("%s: came back as\n%swant\n%s", name, got, r)
		}
	}
}

func TestParseRecipeRefuses(t *testing.T) {
	t.Parallel()
	good := fullRecipe(t).Append(nil)
	for n := range good {
		if _, err := ParseRecipe(good[:n]); !errors.Is(err, ErrEncoding) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	if _, err := ParseRecipe(append(good, 0)); !errors.Is(err, ErrEncoding) {
		t.Errorf("a byte too many: %v", err)
	}
	unsorted := fullRecipe(t)
	unsorted.Constants[0], unsorted.Constants[1] = unsorted.Constants[1], unsorted.Constants[0]
	if _, err := ParseRecipe(unsorted.Append(nil)); !errors.Is(err, ErrEncoding) {
		t.Errorf("constants out of order: %v", err)
	}
	named := fullRecipe(t).Append(nil)
	at := bytes.LastIndex(named, []byte("k<1>"))
	copy(named[at-prefixBytes-len("expression"):], "zzzzzzzzzz")
	if _, err := ParseRecipe(named); !errors.Is(err, ErrEncoding) {
		t.Errorf("attributes out of order: %v", err)
	}
	huge := append([]byte(nil), good[:len(tagRecipe)+prefixBytes]...)
	c := &coder{b: huge}
	c.prefix(typeText, 1<<62)
	if _, err := ParseRecipe(c.b); !errors.Is(err, ErrEncoding) {
		t.Errorf("a length of 4 EiB: %v", err)
	}
}

// FuzzParseRecipe: what is accepted is canonical, so no two encodings mean the
// same recipe, and since it decodes to one recipe, no two recipes have the
// same encoding.
func FuzzParseRecipe(f *testing.F) {
	f.Add(fullRecipe(f).Append(nil))
	f.Add(smallRecipe(f).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRecipe(b)
		if err != nil {
			return
		}
		if diff := cmp.Diff(b, r.Append(nil)); diff != "" {
			t.Errorf("not canonical:\n%s", diff)
		}
	})
}

// FuzzAmbiguity makes two recipes of the same texts cut at different places;
// they are the same only if every part is.
func FuzzAmbiguity(f *testing.F) {
	f.Add("abcdef", uint8(1), uint8(2), uint8(3), uint8(1), uint8(2), uint8(4))
	f.Add("a b -c", uint8(0), uint8(3), uint8(3), uint8(3), uint8(3), uint8(5))
	f.Fuzz(func(t *testing.T, s string, a1, a2, a3, b1, b2, b3 uint8) {
		cut := func(i, j, k uint8) (parts [4]string) {
			at := []int{int(i) % (len(s) + 1), int(j) % (len(s) + 1), int(k) % (len(s) + 1)}
			if at[0] > at[1] || at[1] > at[2] {
				at = []int{0, 0, 0}
			}
			return [4]string{s[:at[0]], s[at[0]:at[1]], s[at[1]:at[2]], s[at[2]:]}
		}
		recipe := func(p [4]string) *Recipe {
			m, err := new(Image).Tracked([]Unit{{
				Kind: OpenCLC, Code: []byte("x" + p[0]), Headers: []Header{{"h", []byte(p[1])}},
				Includes: []Include{{p[2], 0}, {p[3], -1}}, Dir: p[1] + ".",
				Files: []File{{Path: p[3], Includes: []Include{{p[0], 0}}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			return &Recipe{
				Device: Device{Name: p[0], Driver: p[1], Traits: []Pair{{p[2], p[3]}}}, Image: m,
				Constants: Constants{{1, []byte(p[2])}, {2, []byte(p[3])}},
				Options: BuildOptions{
					Compile: Tokens(p[0]), Link: Tokens(p[1]), Variables: []Pair{{p[2], p[3]}}, Attributes: []Pair{{p[1], p[2]}},
				},
			}
		}
		a, b := recipe(cut(a1, a2, a3)), recipe(cut(b1, b2, b3))
		same := cmp.Equal(a.Device, b.Device) && cmp.Equal(a.Image.Units(), b.Image.Units()) &&
			cmp.Equal(a.Constants, b.Constants) && cmp.Equal(a.Options, b.Options)
		if (a.Key() == b.Key()) != same {
			t.Errorf("same parts: %v, same key: %v\n%s\n%s", same, !same, a, b)
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"   ", nil},
		{" -a   -b ", []string{"-a", "-b"}},
		{`-DA="x  y" -b`, []string{`-DA="x  y"`, "-b"}},
		{`-DA='x  y'`, []string{`-DA='x  y'`}},
		{`-DA=x\ \ y -b`, []string{`-DA=x\ \ y`, "-b"}},
		{`-D"A=\"b c\"" -d`, []string{`-D"A=\"b c\""`, "-d"}},
		{"-a\t-b", []string{"-a\t-b"}}, // PoCL splits at spaces alone
		{`-a "open  end`, []string{"-a", `"open  end`}},
		{`-a\`, []string{`-a\`}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Tokens(tt.in)); diff != "" {
			t.Errorf("Tokens(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
	// Options that a driver may tell apart have different keys.
	digests := make(map[Digest]string)
	for _, o := range []string{`-DA="x  y"`, `-DA="x y"`, "-a -b", "-a\t-b", "-b -a", `-a\ -b`, `"-a -b"`} {
		d := NewOptions(o, "").Digest()
		if twice, ok := digests[d]; ok {
			t.Errorf("%q and %q have one digest", o, twice)
		}
		digests[d] = o
	}
	if NewOptions(" -a  -b", "").Digest() != NewOptions("-a -b ", "").Digest() {
		t.Error("spaces between words count")
	}
}

func TestImageIsASnapshot(t *testing.T) {
	t.Parallel()
	code, header := []byte("abc"), []byte("h")
	m, err := NewImage(OpenCLC, code, Header{"h", header})
	if err != nil {
		t.Fatal(err)
	}
	before := m.Digest()
	code[0], header[0] = 'x', 'x'
	if again := newImage(m.Units(), false).Digest(); again != before {
		t.Error("the image changed with the caller's bytes")
	}
	for name, test := range map[string]struct {
		err   error
		units []Unit
	}{
		"no unit":      {ErrEmpty, nil},
		"no code":      {ErrEmpty, []Unit{{Kind: OpenCLC}}},
		"header twice": {ErrDuplicate, []Unit{{Kind: OpenCLC, Code: code, Headers: []Header{{"h", nil}, {"h", code}}}}},
	} {
		if _, err := NewImageSet(test.units...); !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
	}
}

func TestPrinting(t *testing.T) {
	t.Parallel()
	r := fullRecipe(t)
	text := r.String()
	for _, want := range []string{
		"device      Portable Computing Language / pthread-skylake / OpenCL 3.0 / 3.1 (opencl)\n",
		"  compiler  libLLVM-15.so.1 cd34\n",
		"  header    b.h, 2 bytes\n",
		"  file      /in/z.h, 7 bytes, ",
		"  in        /src\n",
		"constant    7 = 0x01000000\n",
		"options     \"-I /in -DN=4 -cl-fast-relaxed-math\"\n",
		"variable    POCL_X=1\n",
		"attribute   expression=\"k<2>\"\nattribute   expression=\"k<1>\"\nattribute   name=\"a.cu\"\n  unkeyed   source directory=\"/in/\"\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Device Device
		Image  struct {
			Digest Digest
			Units  []struct{ Kind string }
		}
		Options BuildOptions
	}
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Device.Digest() != r.Device.Digest() || back.Image.Digest != r.Image.Digest() ||
		back.Image.Units[0].Kind != "OpenCL C" || back.Options.Digest() != r.Options.Digest() {
		t.Errorf("JSON came back as %+v", back)
	}
	k := r.Key()
	kb, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	var k2 Key
	if err := json.Unmarshal(kb, &k2); err != nil || k2 != k {
		t.Errorf("key as JSON: %v, %s", err, kb)
	}
}

func TestParseDigest(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "ab", strings.Repeat("x", 64), strings.Repeat("a", 66)} {
		if _, err := ParseDigest(s); err == nil {
			t.Errorf("ParseDigest(%q) succeeded", s)
		}
	}
}
