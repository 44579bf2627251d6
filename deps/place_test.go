//go:build linux || darwin

package deps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// How what is built depends on the main source's directory, and that a manifest keeps it.
func TestPlacing(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"plain.h":   "#define CAT(a, b) a##b\nint x = __LINE__;\n",
		"own.h":     "const char *own() { return __FILE__; }\n",
		"where.h":   "#define WHERE __builtin_FILE()\n",
		"caller.h":  "const char *caller(const char *f = __builtin_FILE()) { return f; }\n",
		"by.h":      "#include <where.h>\nconst char *caller(const char *f = WHERE) { return f; }\n",
		"std.h":     "struct source_location { static source_location current(); };\nvoid fail(source_location l = source_location::current());\n",
		"comment.h": "// __builtin_FILE\n#if 0\n#endif\n",
		"given.h":   "inline const char *given() { return WHERE; }\n",
		"glob.h":    "const char *const help = R\"(\n kernels/*\n)\";\nconst char *caller(const char *f = __builtin_FILE()) { return f; }\n",
		"quote.h":   "const char *const quote = R\"(\")\"; const char *caller(const char *f = __builtin_FILE());\n",
		"three.h":   "#define J(a, b, c) a##b##c\nconst char *caller(const char *f = J(__builtin_, FI, LE)());\n",
		"beside.h":  "#define J(a, b, c) a##b##c\n#define WHERE __builtin_FILE()\nconst char *caller(const char *f = J(__BASE, _FILE, __));\n",
		"apart.h":   "#define J(a, _NAME) a##_NAME\n#define WHERE __builtin_FILE()\n",
		"macro.h":   "#define J(a, b) a##b\n#define WHERE __builtin_FILE()\nconst char *caller(const char *f = J(WHE, RE));\n",
	})
	for _, c := range []struct {
		source  string
		want    manifest.Placing
		options []string
	}{
		{"", manifest.Unplaced, nil},
		{"#include <plain.h>\n", manifest.Unplaced, nil},
		{"#include <own.h>\n", manifest.Unplaced, nil},
		{"#include <where.h>\n", manifest.Unplaced, nil},
		{"#include <comment.h>\n", manifest.Unplaced, nil},
		{"#include <caller.h>\n", manifest.Called, nil},
		{"#include <caller.h>\nconst char *c = caller();\n", manifest.Called, nil},
		{"#include <by.h>\n", manifest.Called, nil},
		{"#include <std.h>\nvoid f() { fail(); }\n", manifest.Called, nil},
		{"#include <where.h>\nconst char *w = WHERE;\n", manifest.Placed, nil},
		{"#include <caller.h>\nconst char *f = __FILE__;\n", manifest.Placed, nil},
		{"#include <caller.h>\nvoid f() { assert(0); }\n", manifest.Placed, nil},
		{"#include <std.h>\nvoid f() { fail(source_location::current()); }\n", manifest.Placed, nil},
		{"#include <plain.h>\n#include <caller.h>\nconst char *f = CAT(__FI, LE__);\n", manifest.Placed, nil},
		{"#include <given.h>\n", manifest.Called, []string{"-DWHERE=__BASE_FILE__"}},
		{"#include <given.h>\n", manifest.Called, []string{"-D", "WHERE=__builtin_FILE()"}},
		{"#include <where.h>\n#include <given.h>\n", manifest.Called, nil},
		{"#include <where.h>\nconst char *f();\n", manifest.Unplaced, []string{"-DHERE=WHERE2"}},
		{"#include <glob.h>\n", manifest.Called, []string{"-std=c++17"}},
		{"#include <quote.h>\n", manifest.Called, []string{"-std=c++17"}},
		{"#include <three.h>\n", manifest.Called, nil},
		{"#include <beside.h>\n", manifest.Called, nil},
		{"#include <macro.h>\n", manifest.Called, nil},
		{"#include <apart.h>\n", manifest.Unplaced, nil},
	} {
		got, r := Track(key.Unit{Kind: key.CUDACpp, Code: []byte(c.source)}, append(c.options, "-I"+dir), Search{Dir: dir})
		if !r.None() {
			t.Fatalf("%q: %v", c.source, r)
		}
		m, err := manifest.Parse(got.Manifest.Append(nil, key.Digest{1}), key.Digest{1})
		if err != nil {
			t.Fatalf("%q: %v", c.source, err)
		}
		if got.Manifest.Placing() != c.want || m.Placing() != c.want {
			t.Errorf("%q %q: %d, as a manifest %d, want %d", c.source, c.options, got.Manifest.Placing(), m.Placing(), c.want)
		}
	}
}

// Of headers in memory the options' macros count likewise.
func TestPlacingInMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header, option string
		want           manifest.Placing
	}{
		{"inline const char *f() { return WHERE; }\n", "-DWHERE=1", manifest.Unplaced},
		{"inline const char *f() { return WHERE; }\n", "-DWHERE=__BASE_FILE__", manifest.Called},
		{"#define HERE __builtin_FILE()\ninline const char *f(const char *p = WHERE) { return p; }\n", "-DWHERE=HERE", manifest.Called},
		{"#define HERE __builtin_FILE()\ninline const char *f(const char *p = WHERE) { return p; }\n", "-DWHERE=1", manifest.Unplaced},
		{"#define J(a, b) a##b\n#define LEFT __builtin_\ninline const char *f(const char *p = J(__builtin, TAIL)()) { return p; }\n", "-DTAIL=_FILE", manifest.Called},
	} {
		u := key.Unit{Kind: key.CUDACpp, Code: []byte("#include <h.h>\n"), Headers: []key.Header{{Name: "h.h", Content: []byte(c.header)}}}
		if got := PlacingOf(u, []string{c.option}); got != c.want {
			t.Errorf("%q %s: %d, want %d", c.header, c.option, got, c.want)
		}
	}
}

// Many macros whose lines open a comment are looked through in time that grows with them
// alone; where the work is too much the directory counts.
func TestPlacingOfManyMacros(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("#define P(a, b) a##b\nint P(x, y);\n")
	for i := range 47_000 {
		fmt.Fprintf(&b, "#define A%d 1 /*\n*/\n", i)
	}
	u := key.Unit{Kind: key.CUDACpp, Code: []byte(b.String())}
	start := time.Now()
	if got := PlacingOf(u, nil); got != manifest.Unplaced {
		t.Errorf("%d, want %d", got, manifest.Unplaced)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	tr := newTracker(files.OS, nil, u, nil, Search{})
	tr.addMain()
	tr.macros.Left = 1000
	if !tr.placesMain() {
		t.Error("the work was too much, and the directory does not count")
	}
}
