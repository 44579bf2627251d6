//go:build linux || darwin

package deps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"golang.org/x/sys/unix"
)

// show writes down what a unit reads: names with the number of their file,
// lines of files indented.
func show(u key.Unit, dir string) string {
	var b strings.Builder
	list := func(includes []key.Include) {
		for _, i := range includes {
			fmt.Fprintf(&b, " %s=%d", strings.ReplaceAll(i.Name, dir, "."), i.File)
		}
		b.WriteString("\n")
	}
	b.WriteString("unit:")
	list(u.Includes)
	for i, f := range u.Files {
		fmt.Fprintf(&b, "%d %s:", i, strings.TrimPrefix(f.Path, dir+"/"))
		list(f.Includes)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type trackCase struct {
	name    string
	files   map[string]string // m.cl is the unit
	options string
	search  func(dir string) Search
	want    string // by show
	reason  string // a part of it
}

var trackCases = []trackCase{
	{
		// clang 15 goes on behind x, GCC starts again: they read different files.
		"include_next beside a file that has none",
		map[string]string{"m.cl": "#include <y/a.h>", "x/y/a.h": "#include \"../a.h\"", "x/a.h": "#include_next \"b.h\"", "x/b.h": "", "z/b.h": "", "y/c.h": ""},
		"-Iy -Ix -Iz", nil,
		"unit: <y/a.h>=0\n0 x/y/a.h: \"../a.h\"=1\n1 x/a.h: \"b.h\"=2 \"b.h\"=3\n2 x/b.h:\n3 z/b.h:", "",
	},
	{
		"a piece of a name in an option that defines nothing",
		map[string]string{"m.cl": "#define P(a, b) a##b\nint __h, _include;\n#include \"a.h\"", "a.h": ""},
		"--device-as-default", nil, "unit: \"a.h\"=0\n0 a.h:", "",
	},
	{
		"a piece of a name in a definition",
		map[string]string{"m.cl": "#define P(a, b) a##b\nint __h, _include;\n#include \"a.h\"", "a.h": ""},
		"-DX=as", nil, "", "pieces of __has_include beside ##",
	},
	{
		"three deep",
		map[string]string{"m.cl": "#include \"a.h\"", "a.h": "#include \"d/b.h\"", "d/b.h": "#include \"c.h\"", "d/c.h": ""},
		"", nil,
		"unit: \"a.h\"=0\n0 a.h: \"d/b.h\"=1\n1 d/b.h: \"c.h\"=2\n2 d/c.h:", "",
	},
	{
		"every branch",
		map[string]string{"m.cl": "#if 0\n#include <a.h>\n#else\n#include <b.h>\n#endif", "i/a.h": "", "i/b.h": ""},
		"-Ii", nil,
		"unit: <a.h>=0 <b.h>=1\n0 i/a.h:\n1 i/b.h:", "",
	},
	{"found nowhere", map[string]string{"m.cl": "#include <a.h>\n#include \"b.h\""}, "-I i", nil, "unit: <a.h>=-1 \"b.h\"=-1", ""},
	{"order of -I", map[string]string{"m.cl": "#include <a.h>", "x/a.h": "", "y/a.h": ""}, "-Iy -I x", nil, "unit: <a.h>=0\n0 y/a.h:", ""},
	{
		"-iquote is for quotes",
		map[string]string{"m.cl": "#include <a.h>\n#include \"a.h\"", "x/a.h": "", "y/a.h": ""},
		"-Iy -iquote x", nil,
		"unit: <a.h>=0 \"a.h\"=1\n0 y/a.h:\n1 x/a.h:", "",
	},
	{
		"-isystem and -idirafter come later",
		map[string]string{"m.cl": "#include <a.h>\n#include <b.h>\n#include <c.h>", "x/a.h": "", "y/a.h": "", "x/b.h": "", "s/b.h": "", "s/c.h": "", "x/c.h": ""},
		"-idirafter x -isystem none -Iy", func(dir string) Search { return Search{Dir: dir, Main: dir, System: []string{dir + "/s"}} },
		"unit: <a.h>=0 <b.h>=1 <c.h>=2\n0 y/a.h:\n1 s/b.h:\n2 s/c.h:", "",
	},
	{
		"a directory of the system's given again",
		map[string]string{"m.cl": "#include <a.h>", "s/a.h": "", "x/a.h": ""},
		"-Is -Ix", func(dir string) Search { return Search{Dir: dir, Main: dir, System: []string{dir + "/s"}} },
		"unit: <a.h>=0\n0 x/a.h:", "",
	},
	{
		"the driver's own directories",
		map[string]string{"m.cl": "#include <a.h>\n#include <b.h>", "f/a.h": "", "x/a.h": "", "x/b.h": "", "l/b.h": ""},
		"-Ix", func(dir string) Search {
			return Search{Dir: dir, Main: dir, First: []string{dir + "/f"}, Last: []string{dir + "/l"}}
		},
		"unit: <a.h>=0 <b.h>=1\n0 f/a.h:\n1 x/b.h:", "",
	},
	{
		"beside the including file",
		map[string]string{"m.cl": "#include <d/a.h>", "x/d/a.h": "#include \"b.h\"\n#include <b.h>", "x/d/b.h": "", "x/b.h": ""},
		"-Ix", nil,
		"unit: <d/a.h>=0\n0 x/d/a.h: \"b.h\"=1 <b.h>=2\n1 x/d/b.h:\n2 x/b.h:", "",
	},
	{
		"equal names, equal contents, two files",
		map[string]string{"m.cl": "#include \"x/a.h\"\n#include \"y/a.h\"", "x/a.h": "#pragma once\n", "y/a.h": "#pragma once\n"},
		"", nil,
		"unit: \"x/a.h\"=0 \"y/a.h\"=1\n0 x/a.h:\n1 y/a.h:", "",
	},
	{
		"a link is the file",
		map[string]string{"m.cl": "#include \"a.h\"\n#include \"b.h\"", "a.h": "#pragma once\n", "b.h": "-> a.h"},
		"", nil,
		"unit: \"a.h\"=0 \"b.h\"=0\n0 a.h:", "",
	},
	{
		"a link in another directory",
		map[string]string{"m.cl": "#include \"a.h\"\n#include \"d/a.h\"", "a.h": "#include \"b.h\"", "b.h": "", "d/a.h": "-> ../a.h", "d/b.h": ""},
		"", nil,
		"", "includes other files",
	},
	{"an absolute name", map[string]string{"m.cl": "#include \"/dev/null/a.h\"\n#include </none.h>"}, "", nil, "unit: \"/dev/null/a.h\"=-1 </none.h>=-1", ""},
	{
		"itself",
		map[string]string{"m.cl": "#include \"a.h\"", "a.h": "#ifndef A\n#define A\n#include \"a.h\"\n#endif"},
		"", nil,
		"unit: \"a.h\"=0\n0 a.h: \"a.h\"=0", "",
	},
	{
		"a circle",
		map[string]string{"m.cl": "#include \"x/a.h\"", "x/a.h": "#include \"../y/b.h\"", "y/b.h": "#include \"../x/a.h\""},
		"", nil,
		"unit: \"x/a.h\"=0\n0 x/a.h: \"../y/b.h\"=1\n1 y/b.h: \"../x/a.h\"=0", "",
	},
	{"a circle through a link", map[string]string{"m.cl": "#include \"x/a.h\"", "x": "-> z", "z/a.h": "#include \"../x/a.h\""}, "", nil, "", "symbolic links"},
	{
		"continued and commented",
		map[string]string{"m.cl": "/* #include <no.h> */ # /**/ inc\\\nlude /* \n */ <a.h> // #include <no.h>\n%:include <b.h>", "i/a.h": "", "i/b.h": ""},
		"-Ii", nil,
		"unit: <a.h>=0 <b.h>=1\n0 i/a.h:\n1 i/b.h:", "",
	},
	{"import", map[string]string{"m.cl": "#import \"a.h\"", "a.h": ""}, "", nil, "unit: \"a.h\"=0\n0 a.h:", ""},

	{
		"include_next",
		map[string]string{"m.cl": "#include <a.h>", "x/a.h": "#include_next <a.h>", "y/a.h": "#include_next \"a.h\"", "z/a.h": ""},
		"-Ix -Iy -Iz", nil,
		"unit: <a.h>=0\n0 x/a.h: <a.h>=1\n1 y/a.h: \"a.h\"=2\n2 z/a.h:", "",
	},
	{"include_next in the source", map[string]string{"m.cl": "#include_next <a.h>", "x/a.h": ""}, "-Ix", nil, "unit: <a.h>=0\n0 x/a.h:", ""},
	{"include_next, then nothing", map[string]string{"m.cl": "#include <a.h>", "x/a.h": "#include_next <a.h>"}, "-Ix", nil, "unit: <a.h>=0\n0 x/a.h: <a.h>=-1", ""},
	{
		"include_next by two ways",
		map[string]string{"m.cl": "#include <d/a.h>\n#include <a.h>", "x/d/a.h": "#include_next <a.h>", "x/a.h": "int top;"},
		"-Ix -Ix/d", nil,
		"", "includes other files",
	},
	{
		"include_next beside the includer",
		map[string]string{"m.cl": "#include <c.h>", "x/c.h": "#include \"d/a.h\"", "x/d/a.h": "#include_next <a.h>", "x/a.h": "", "z/a.h": ""},
		"-Ix -Iz", nil, "unit: <c.h>=0\n0 x/c.h: \"d/a.h\"=1\n1 x/d/a.h: <a.h>=2 <a.h>=3\n2 x/a.h:\n3 z/a.h:", "",
	},
	{
		"include_next beside the includer, which makes no difference",
		map[string]string{"m.cl": "#include <c.h>", "x/c.h": "#include \"d/a.h\"", "x/d/a.h": "#include_next <a.h>", "z/a.h": ""},
		"-Ix -Iz", nil, "unit: <c.h>=0\n0 x/c.h: \"d/a.h\"=1\n1 x/d/a.h: <a.h>=2\n2 z/a.h:", "",
	},
	{
		"has_include",
		map[string]string{"m.cl": "#if __has_include(<a.h>) && !__has_include(\"no.h\") && __has_include_next(<b.h>)\n#endif", "i/a.h": "", "i/b.h": ""},
		"-Ii", nil,
		"unit: <a.h>=0 \"no.h\"=-1 <b.h>=1\n0 i/a.h:\n1 i/b.h:", "",
	},
	{"has_include of a macro", map[string]string{"m.cl": "#define A <a.h>\n#if __has_include(A)\n#endif", "i/a.h": ""}, "-Ii", nil, "unit: <a.h>=0\n0 i/a.h:", ""},
	{
		"has_include in a macro",
		map[string]string{"m.cl": "#include <h.h>\n#if defined(H) && H(<a.h>) || H(\"b.h\")\n#endif", "i/h.h": "#define H(x) __has_include(x)", "i/a.h": ""},
		"-Ii", nil,
		"unit: <h.h>=0 \"b.h\"=-1 <a.h>=1\n0 i/h.h:\n1 i/a.h:", "",
	},
	{
		"has_include in a macro in a macro",
		map[string]string{"m.cl": "#define H __has_include\n#define I(x) H(<x>)\n#if I(a.h)\n#endif", "i/a.h": ""},
		"-Ii", nil,
		"unit: <a.h>=0\n0 i/a.h:", "",
	},
	{"has_include in code", map[string]string{"m.cl": "#define H(x) __has_include(x)\nint a = H(<a.h>);\n", "i/a.h": ""}, "-Ii", nil, "", "in code"},
	{"has_include of what is not known", map[string]string{"m.cl": "#if __has_include(A)\n#endif"}, "", nil, "", "cannot be expanded"},

	{"a macro", map[string]string{"m.cl": "#define A \"a.h\"\n#include A", "a.h": ""}, "", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{
		"a macro of a header",
		map[string]string{"m.cl": "#include \"c.h\"\n#include A", "c.h": "#define A <a.h>", "i/a.h": "#include B\n", "i/b.h": "", "d.h": "#define B <b.h>\n", "c2.h": ""},
		"-Ii -DB=<b.h>", nil,
		"unit: \"c.h\"=0 <a.h>=1\n0 c.h:\n1 i/a.h: <b.h>=2\n2 i/b.h:", "",
	},
	{"a path of an option", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(P/a.h)", "p/a.h": ""}, "-D P=p", nil, "unit: \"p/a.h\"=0\n0 p/a.h:", ""},
	{
		"all definitions",
		map[string]string{"m.cl": "#ifdef X\n#define A <a.h>\n#else\n#define A <b.h>\n#endif\n#include A", "i/a.h": "", "i/b.h": ""},
		"-Ii", nil,
		"unit: <a.h>=0 <b.h>=1\n0 i/a.h:\n1 i/b.h:", "",
	},
	{"pasted", map[string]string{"m.cl": "#define C(a, b) a##b\n#define A_B <a.h>\n#include C(A, _B)", "i/a.h": ""}, "-Ii", nil, "unit: <a.h>=0\n0 i/a.h:", ""},
	{"found by no name", map[string]string{"m.cl": "#define A <a.h>\n#include A"}, "", nil, "", "no such file"},
	{"not defined", map[string]string{"m.cl": "#include A"}, "", nil, "", "cannot be expanded"},
	{"the compiler's", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(v/__OPENCL_VERSION__.h)", "v/__OPENCL_VERSION__.h": ""}, "", nil, "", "cannot be expanded"},
	{"the compiler's, or ours", map[string]string{"m.cl": "#ifndef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ 1\n#endif\n#define S_(x) #x\n#define S(x) S_(x)\n#include S(__OPENCL_VERSION__.h)", "1.h": ""}, "", nil, "", "cannot be expanded"},
	{"a quoted option", map[string]string{"m.cl": "#include A", "a.h": ""}, `-DA="a.h"`, nil, "", "cannot be expanded"},
	{"too many ways", map[string]string{"m.cl": "#define S_(x) #x\n#define S(x) S_(x)\n#include S(A/B/C/D/E)\n" + many("ABCDE", 4)}, "", nil, "", "too many ways"},
	{"too long", map[string]string{"m.cl": "#define A B B B B B B B B\n#define B C C C C C C C C C\n#define C D D D D D D D D\n#define D E E E E E E E E\n#define E F F F F F F F F\n#define F G G G G G G\n#include A"}, "", nil, "", "too much"},
	{"recursive", map[string]string{"m.cl": "#define A B\n#define B A\n#include A"}, "", nil, "", "cannot be expanded"},

	{"time in a header", map[string]string{"m.cl": "#include \"a.h\"", "a.h": "const char *t = __TIME__;"}, "", nil, "", "date or time"},
	{"pasted with a header's help", map[string]string{"m.cl": "#include \"a.h\"\nC(__TI, ME__)", "a.h": "#define C(a, b) a##b"}, "", nil, "", "pieces of __TIME__"},
	{"pasted with an option's help", map[string]string{"m.cl": "#include \"a.h\"\nC(__TI, E)", "a.h": "#define C(a, b) a##b"}, "-DE=ME__", nil, "", "pieces of __TIME__"},
	{"assembled with a header's help", map[string]string{"m.cl": "#include \"a.h\"\nasm(\".inc\" B);", "a.h": "#define B \"bin \\\"x\\\"\""}, "", nil, "", "reads a file"},
	{"assembled with an option's help", map[string]string{"m.cl": "#include \"a.h\"\nasm(B \"bin \\\"x\\\"\");", "a.h": ""}, `-DB=".inc"`, nil, "", "reads a file"},
	{"a dot and no directive", map[string]string{"m.cl": "#include \"a.h\"\nasm(\"add.\" T); f(v.i, a[1].i); s = \"input\";", "a.h": ""}, "-DP=/usr/inc/x", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{"a dot that is a directory", map[string]string{"m.cl": "#include \"a.h\"\nasm(\"nop\");", "a.h": ""}, "-I .", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{"a dot that may become a directive", map[string]string{"m.cl": "#include \"a.h\"\nasm(\"add.\" T); f(\".\");", "a.h": ""}, "", nil, "", "reads a file"},
	{"letters that would add up", map[string]string{"m.cl": "#include \"a.h\"\nint T, I, M, E, __; C(__, x)", "a.h": "#define C(a, b) a##b"}, "", nil, "unit: \"a.h\"=0\n0 a.h:", ""},
	{"a macro behind -D", map[string]string{"m.cl": "#define A <a.h>\n#include A", "a.h": ""}, `-D "X`, nil, "", "cannot be expanded"},
	{"a raw string in a header", map[string]string{"m.cl": "#include \"a.h\"", "a.h": "auto a = R\"(x)\";"}, "", nil, "", "raw string"},
	{"embed in a header", map[string]string{"m.cl": "#include \"a.h\"", "a.h": "#embed <x>"}, "", nil, "", "embed"},
	{"include_alias in two files", map[string]string{"m.cl": "#include \"a.h\"\n_Pragma(P)", "a.h": "#define P \"include_alias(a, b)\""}, "", nil, "", "include_alias"},
	{"quoted directory", map[string]string{"m.cl": "#include \"a.h\"", "a.h": ""}, `-I "i"`, nil, "", "drivers read it differently"},

	{"a directory in its place", map[string]string{"m.cl": "#include <a.h>", "x/a.h/none": "", "y/a.h": ""}, "-Ix -Iy", nil, "unit: <a.h>=0\n0 y/a.h:", ""},
	{"a file that is searched", map[string]string{"m.cl": "#include <a.h>", "x": ""}, "-Ix", nil, "", "no directory"},
	{"one directory by two names", map[string]string{"m.cl": "#include <a.h>", "x/a.h": "", "y": "-> x"}, "-Ix -Iy", nil, "", "one directory"},
	{"a link to nothing", map[string]string{"m.cl": "#include <a.h>", "x/a.h": "-> none", "y/a.h": ""}, "-Ix -Iy", nil, "unit: <a.h>=0\n0 y/a.h:", ""},

	{"only in the working directory", map[string]string{"m.cl": "#include <a.h>", "a.h": ""}, "", unknownMain, "unit: <a.h>=0\n0 a.h:", ""},
	{"in the working directory and elsewhere", map[string]string{"m.cl": "#include \"a.h\"", "a.h": "", "i/a.h": ""}, "-Ii", unknownMain, "", "in the working directory and elsewhere"},
	{
		"in the working directory, which is searched",
		map[string]string{"m.cl": "#include \"a.h\"", "a.h": "#include \"b.h\"", "b.h": "", "i/a.h": ""},
		"-I. -Ii", unknownMain,
		"unit: \"a.h\"=0\n0 a.h: \"b.h\"=1\n1 b.h:", "",
	},
	{"elsewhere", map[string]string{"m.cl": "#include \"a.h\"", "i/a.h": "#include \"m.h\"", "m.h": ""}, "-Ii", unknownMain, "unit: \"a.h\"=0\n0 i/a.h: \"m.h\"=-1", ""},
}

func unknownMain(dir string) Search { return Search{Dir: dir} }

// many returns definitions, so many of each name.
func many(names string, n int) string {
	var b strings.Builder
	for _, name := range names {
		for i := range n {
			fmt.Fprintf(&b, "#define %c x%d\n", name, i)
		}
	}
	return b.String()
}

// What depends on the kind of code: in CUDA C++ inline assembly reads no files, and
// raw strings are literals.
func TestTrackKinds(t *testing.T) {
	t.Parallel()
	raw := "void f() { asm volatile(R\"YYY(\n#include \\\"no\\\" it's /* none\n)YYY\" : \"=r\"(x)); }\n#include \"b.h\"\n"
	for _, c := range []struct {
		name, header, options string
		kinds                 map[key.Kind]string // reason, "" for none
	}{
		{"a raw string of 2017", raw, "--std=c++17", map[key.Kind]string{key.CUDACpp: "", key.HIPCpp: ""}},
		{"a raw string", raw, "", map[key.Kind]string{key.CUDACpp: "raw string", key.HIPCpp: "", key.OpenCLC: "raw string"}},
		{"a raw string before 2011", raw, "--std=c++03", map[key.Kind]string{key.CUDACpp: "raw string", key.HIPCpp: "raw string"}},
		{"a raw string of another language", raw, "-xc", map[key.Kind]string{key.HIPCpp: "raw string"}},
		{"a raw string without an end", "auto s = R\"x(\n)y\";\n", "", map[key.Kind]string{key.CUDACpp: "raw string"}},
		{"a raw string in a macro", "#define S R\"(x)\"\n", "", map[key.Kind]string{key.CUDACpp: "raw string"}},
		{"a raw string with a long name", "auto s = R\"aaaaaaaaaaaaaaaaa(x)aaaaaaaaaaaaaaaaa\";\n", "", map[key.Kind]string{key.CUDACpp: "raw string"}},
		{"a file in a raw string", "asm(R\"(.incbin \"x\")\");\n", "-std=c++14", map[key.Kind]string{key.CUDACpp: "", key.HIPCpp: "reads a file"}},
		{"the beginning of a directive", "#define A(x) asm(x \".\")\nA(\"incbin\")\n", "", map[key.Kind]string{key.CUDACpp: "", key.HIPCpp: "reads a file", key.OpenCLC: "reads a file"}},
	} {
		dir := tree(t, map[string]string{"a.h": c.header, "b.h": ""})
		for kind, reason := range c.kinds {
			got, r := Track(key.Unit{Kind: kind, Code: []byte("#include \"a.h\"\n")}, key.Tokens(c.options), Search{Dir: dir, Main: dir})
			if (reason == "") != r.None() || !strings.Contains(r.String(), reason) {
				t.Errorf("%s, %v: %v, want %q", c.name, kind, r, reason)
			}
			if c.header == raw && got != nil && len(got.Unit.Files) != 2 {
				t.Errorf("%s, %v: %v", c.name, kind, got.Unit.Files)
			}
		}
	}
}

func (tt *trackCase) track(t testing.TB, dir string) (*Tracking, reason.Uncacheable) {
	t.Helper()
	s := Search{Dir: dir, Main: dir}
	if tt.search != nil {
		s = tt.search(dir)
	}
	return Track(key.Unit{Kind: key.OpenCLC, Code: []byte(tt.files["m.cl"] + "\n")}, key.Tokens(tt.options), s)
}

// The same tree in another directory leads to the same, its paths aside.
func TestTrack(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(trackCases, hiddenCases) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, below := range []string{"", "another"} {
				dir := filepath.Join(tree(t, nil), below)
				for name, content := range tt.files {
					write(t, filepath.Join(dir, name), content)
				}
				got, r := tt.track(t, dir)
				if (tt.reason != "") != !r.None() || !strings.Contains(r.String(), tt.reason) {
					t.Fatalf("%v, want %q", r, tt.reason)
				}
				if got == nil {
					continue
				}
				if diff := gocmp.Diff(tt.want, show(got.Unit, dir)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for _, f := range got.Unit.Files {
					if b := readFile(t, f.Path); string(got.Contents[f.Digest]) != string(b) || f.Size != int64(len(b)) {
						t.Errorf("%s: content %q, size %d", f.Path, got.Contents[f.Digest], f.Size)
					}
				}
			}
		})
	}
}

func TestTrackSpecialFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"big/none": ""})
	if err := unix.Mkfifo(dir+"/fifo.h", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", dir+"/zero.h"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/big.h", "")
	if err := os.Truncate(dir+"/big.h", maxBytes+1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"fifo.h": "not a regular file", "zero.h": "not a regular file", "big.h": "too many", strings.Repeat("x", 300): "name too long"} {
		_, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"" + name + "\"\n")}, nil, Search{Dir: dir, Main: dir})
		if r.Code != reason.NotCacheableHeaders || !strings.Contains(r.Detail, want) {
			t.Errorf("%s: %v, want %q", name, r, want)
		}
	}
}

// Where paths get into what is built, the working directory counts.
func TestTrackPaths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code, header, options string
		want                  bool
	}{
		{"", "", "", false},
		{"__FILE__", "", "", true},
		{"", "__FILE__", "", true},
		{"", "__PRETTY_FUNCTION__", "", true},
		{"", "", "-rdc=true", true},
		{"", "", "-rdc=false", false},
		{"", "__BASE_FILE__", "", true},
		{"", "__FILE_NAME__", "", true},
		{"", "__builtin_FILE()", "", true},
		{"", "std::source_location", "", true},
		{"assert(1);", "", "", true},
		{"__LINE__", "__func__", "", false},
		{"// __FILE__", "", "", false},
		{"#define C(a, b) a##b\nC(__FI, LE__)", "", "", true},
		{"#define C(a, b) a##b\nC(x, y)", "", "-DX=__FIL", true},
		{"", "", "-DX=__FILE__", true},
		{"", "", "-g", true},
		{"", "", "-gline-tables-only", true},
		{"", "", "-G", true},
		{"", "", "-lineinfo", true},
		{"", "", "--generate-line-info", true},
		{"", "", "-g0 -O2", false},
	}
	for _, tt := range tests {
		dir := tree(t, map[string]string{"a.h": tt.header})
		got, r := Track(key.Unit{Kind: key.CUDACpp, Code: []byte("#include \"a.h\"\n" + tt.code)}, key.Tokens(tt.options), Search{Dir: dir, Main: dir})
		if !r.None() {
			t.Errorf("%+v: %v", tt, r)
		} else if (got.Unit.Dir == dir) != tt.want || !tt.want && got.Unit.Dir != "" {
			t.Errorf("%+v: directory %q", tt, got.Unit.Dir)
		}
	}
}

// A unit that has paths in it must not reach a file by two of them.
func TestTrackPathsOfLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.h": "__FILE__", "b.h": "-> a.h"})
	_, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n#include \"b.h\"\n")}, nil, Search{Dir: dir, Main: dir})
	if r.Code != reason.NotCacheableHeaders {
		t.Error(r)
	}
}

// Depth, number and bytes are bounded.
func TestTrackBounds(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for i := range 300 {
		files[fmt.Sprintf("%d.h", i)] = fmt.Sprintf("#include \"%d.h\"\n", i+1)
	}
	dir := tree(t, files)
	s := Search{Dir: dir, Main: dir}
	if _, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"0.h\"\n")}, nil, s); !strings.Contains(r.Detail, "deep") {
		t.Errorf("300 deep: %v", r)
	}
	if got, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"101.h\"\n")}, nil, s); !r.None() || len(got.Unit.Files) != 199 {
		t.Errorf("199 deep: %v", r)
	}
	for i := range 3 {
		if err := os.Truncate(fmt.Sprintf("%s/%d.h", dir, 200+i), maxBytes/2); err != nil {
			t.Fatal(err)
		}
	}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include \"200.h\"\n#include \"201.h\"\n#include \"202.h\"\n")}
	if err := unhurried(u, s); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("96 MiB: %v", err)
	}
}

// unhurried returns why a unit is not tracked, on a machine that may have much else to do:
// the bound of the time is not the one that is looked at.
func unhurried(u key.Unit, s Search) error {
	tr := newTracker(files.OS, nil, u, nil, s)
	tr.disk.Until = time.Now().Add(time.Hour)
	_, err := tr.track()
	return err
}

// Sources that are made to keep the scan busy are given up soon.
func TestTimingOfTrackEnds(t *testing.T) {
	timing.Only(t)
	var chain strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&chain, "#define A%d A%d\n", i, i+1)
	}
	tests := map[string]string{
		"dots":             "asm(\"" + strings.Repeat(".", 1<<22) + "\");\n",
		"dots in code":     strings.Repeat(" .", 1<<21) + "\n",
		"comment lines":    "#define H(x) __has_include(x)\n#if 1 /*" + strings.Repeat("\n H", 1<<20) + "*/\n#endif\n",
		"chain of macros":  chain.String() + "#include A0\n",
		"doubled":          "#define A(x) x x\n#include " + strings.Repeat("A(", 60) + "b" + strings.Repeat(")", 60) + "\n",
		"many definitions": many("ABCDEFGH", 30) + strings.Repeat("#include A.B.C.D.E.F.G.H\n", 1000),
		"questions":        strings.Repeat("#define H(x) __has_include(x)\n", 1) + chain.String() + strings.Repeat("#if H(A0)\n#endif\n", 1000),
		"open":             "#include " + strings.Repeat("(", 1<<20) + "\n",
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, nil)
			start := time.Now()
			_, r := Track(key.Unit{Kind: key.OpenCLC, Code: []byte(src)}, nil, Search{Dir: dir, Main: dir})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v: %v", took, r)
			} else {
				t.Logf("%v: %v", took, r)
			}
		})
	}
}
