package rtc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
)

// callNumber is what NVRTC counts calls with, over all that the process compiles.
var callNumber = regexp.MustCompile(`// callseq [0-9]+(, [0-9]+)?`)

// internal is what newer NVRTCs make of the whole name, for names of internal linkage.
var internal = regexp.MustCompile(`_[0-9a-f]{8}_([0-9]+_a_cubin_cu)`)

// sameOutput reports whether two outputs say the same.
func sameOutput(a, b *rtc.Output) bool {
	return sameCode(a, b) && compileTime.ReplaceAllString(a.Log(), "") == compileTime.ReplaceAllString(b.Log(), "")
}

// sameCode reports whether two outputs have the same code.
func sameCode(a, b *rtc.Output) bool {
	for f := range rtc.Forms() {
		x, y := internal.ReplaceAll(a.Answer(f).Data, []byte("_$1")), internal.ReplaceAll(b.Answer(f).Data, []byte("_$1"))
		if f == rtc.PTX {
			x, y = callNumber.ReplaceAll(x, nil), callNumber.ReplaceAll(y, nil)
		}
		if !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// compileTime is in messages of ptxas from 12.5 on.
var compileTime = regexp.MustCompile(`Compile time = [0-9.]+ ms`)

// placeTest is a program, and whether what is made of it is the same in another directory.
type placeTest struct {
	name    string
	source  string
	options []string
	headers []key.Header
	hit     bool
	long    bool
	says    []string // name expressions
}

const template = "template <int N> __global__ void k(int *p) { *p = N; }\n"

var placeTests = []placeTest{
	{name: "plain", source: "extern \"C\" __global__ void k(int *p) { *p = 1; }", hit: true},
	{name: "a header", source: "#include <safe.h>\nextern \"C\" __global__ void k(int *p) { *p = SAFE; int unused; }", hit: true},
	{name: "a header that asserts", source: "#include <asserts.h>\nextern \"C\" __global__ void k(int *p) { *p = asserts(*p); }", hit: true},
	{name: "warning", source: "extern \"C\" __global__ void k(int *p) { int unused; *p = 1; }", hit: true, long: true},
	{name: "internal", source: "static __device__ int s; namespace { __device__ int a; __global__ void n(int *p) { *p = a; } }\n" +
		"static __device__ __noinline__ int f(int *q) { return *q + s++; } extern \"C\" __global__ void k(int *p) { *p = f(p) + a; }", hit: true},
	{name: "printf", source: "extern \"C\" __global__ void k(int *p) { printf(\"%d\\n\", *p); }", hit: true, long: true},
	{
		name: "lambda", source: "template <class T> __device__ const char *f() { return __PRETTY_FUNCTION__; }\n" +
			"extern \"C\" __global__ void k(const char **p) { auto l = [] { return 3; }; p[1] = f<decltype(l)>(); p[2] = __func__; }",
		options: []string{"-std=c++17"}, long: true,
	}, // the same, but no other compiler's
	{
		name: "other options", source: "extern \"C\" __global__ void k(float *p) { *p /= 3; }", hit: true, long: true,
		options: []string{"-use_fast_math", "-maxrregcount=32", "-restrict", "-ftz=true", "--std=c++14", "-default-device", "-DN=1"},
	},
	{name: "file", source: "extern \"C\" __global__ void k(const char **p) { *p = __FILE__; }"},
	{name: "spliced", source: "extern \"C\" __global__ void k(const char **p) { *p = __FI\\\nLE__; }", long: true},
	{name: "base file in a header", source: "#include <base.h>\nextern \"C\" __global__ void k(const char **p) { *p = base(); }", long: true},
	{name: "assert", source: "extern \"C\" __global__ void k(int *p) { assert(*p); }", long: true},
	{name: "a header's macro", source: "#include <safe.h>\nextern \"C\" __global__ void k(const char **p) { *p = WHERE; }"},
	{name: "a header's macro that pastes", source: "#include <safe.h>\nextern \"C\" __global__ void k(const char **p) { *p = CAT(__FI, LE__); }", long: true},
	{name: "a macro that pastes something else", source: "#include <safe.h>\n#define name CAT(p, q)\n" +
		"extern \"C\" __global__ void k(int *name) { *pq = 1; }", hit: true},
	{name: "a macro that pastes a macro's name", source: "#include <safe.h>\nextern \"C\" __global__ void k(const char **p) { *p = CAT(WHE, RE); }", long: true},
	{name: "an option's macro", source: "extern \"C\" __global__ void k(const char **p) { *p = HERE; }", options: []string{"-DHERE=__FILE__"}, long: true},
	{
		name: "an option's macro in a header", source: "#include <given.h>\nextern \"C\" __global__ void k(const char **p) { *p = given(); }",
		options: []string{"-DGIVEN=__BASE_FILE__"},
	},
	{
		name: "an option's macro in a header in memory", source: "#include \"m.h\"\nextern \"C\" __global__ void k(const char **p) { *p = m(); }",
		options: []string{"-DGIVEN=__BASE_FILE__"}, long: true,
		headers: []key.Header{{Name: "m.h", Content: []byte("inline __device__ const char *m() { return GIVEN; }\n")}},
	},
	{
		name: "behind a raw string", source: "#include <glob.h>\nextern \"C\" __global__ void k(const char **p) { *p = glob(); }",
		options: []string{"-std=c++17"},
	},
	{name: "pasted of three", source: "#include <three.h>\nextern \"C\" __global__ void k(const char **p) { *p = three(); }", long: true},
	{
		name: "in memory", source: "#include \"m.h\"\nextern \"C\" __global__ void k(int *p) { *p = M; }", hit: true, long: true,
		headers: []key.Header{{Name: "m.h", Content: []byte("#define M 1\n")}},
	},
	{
		name: "in memory, a macro", source: "#include \"m.h\"\nextern \"C\" __global__ void k(const char **p) { *p = M; }", long: true,
		headers: []key.Header{{Name: "m.h", Content: []byte("#define M __FILE__\n")}},
	},
	{name: "an expression", source: "#include <safe.h>\n" + template, says: []string{"k<SAFE>", "k<unsigned(2)>"}, long: true},
	{name: "an expression of the source's names", source: template, says: []string{"k<(unsigned char)2>"}, hit: true},
	{name: "an expression that names the file", source: template, says: []string{"k<sizeof(__BASE_FILE__)>"}},
	{name: "an expression with a macro", source: "#include <safe.h>\n" + template, says: []string{"k<sizeof(BASE)>"}},
	{
		name: "an expression with a macro in memory", source: "#include \"m.h\"\n" + template, says: []string{"k<sizeof(M)>"},
		headers: []key.Header{{Name: "m.h", Content: []byte("#define M __BASE_FILE__\n")}},
	},
	{name: "line", source: "#line 7 \"other.cu\"\nextern \"C\" __global__ void k(int *p) { int unused; *p = 1; }", hit: true, long: true},
	{name: "line information", source: "extern \"C\" __global__ void k(int *p) { *p = 1; }", options: []string{"-lineinfo"}},
	{name: "debug information", source: "extern \"C\" __global__ void k(int *p) { *p = 1; }", options: []string{"-G"}, long: true},
	{name: "relocatable", source: "extern \"C\" __global__ void k(int *p) { *p = 1; }", options: []string{"-rdc=true"}, long: true},
	{name: "for a linker", source: "extern \"C\" __global__ void k(int *p) { *p = 1; }", options: []string{"-dlto"}, long: true},
	{name: "beside", source: "#include \"beside.h\"\nextern \"C\" __global__ void k(int *p) { *p = BESIDE; }", long: true},
	{name: "not beside", source: "#include \"safe.h\"\nextern \"C\" __global__ void k(int *p) { *p = SAFE; }", hit: true, long: true},
}

// What is served of a program in another directory, as CuPy's are in each process, is what
// the compiler would have made there, messages included; and where nothing depends on the
// directory it is served.
func TestPlaceOfAName(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	include := t.TempDir()
	for name, text := range map[string]string{
		"safe.h":    "#pragma once\n#define SAFE 1\n#define BASE __BASE_FILE__\n#define WHERE LOCATE(1)\n#define LOCATE(x) __FILE__\n#define CAT(a, b) a##b\n",
		"asserts.h": "inline __device__ int asserts(int i) { assert(i > 0); return i; }\n",
		"given.h":   "inline __device__ const char *given() { return GIVEN; }\n",
		"glob.h":    "constexpr const char *help = R\"(\n kernels/*\n)\";\ninline __device__ const char *glob() { return __BASE_FILE__; }\n",
		"three.h":   "#define J(a, b, c) a##b##c\ninline __device__ const char *three() { return J(__BASE_, FI, LE__); }\n",
		"base.h":    "inline __device__ const char *base() { return __BASE_FILE__; }\n",
	} {
		write(t, filepath.Join(include, name), text)
	}
	for _, c := range placeTests {
		if c.long && os.Getenv("KERNSTASH_TEST_LONG") == "" {
			continue
		}
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			here, there := t.TempDir(), filepath.Join(t.TempDir(), "longer")
			if err := os.Mkdir(there, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(here, "beside.h"), "#define BESIDE 1\n")
			write(t, filepath.Join(there, "beside.h"), "#define BESIDE 2\n")
			dir := cacheDir(t)
			r := rtc.Request{
				Source: []byte(c.source), Name: here + "/a.cubin.cu", Headers: c.headers,
				Options:     append([]string{"-I" + include, "-arch=sm_80"}, c.options...),
				Expressions: c.says,
			}
			if c.headers != nil {
				r.Options = r.Options[1:]
			}
			if _, hit := outcome(t, l, dir, r); hit {
				t.Fatal("a hit in an empty cache")
			}
			r.Name = there + "/a.cubin.cu"
			got, hit := outcome(t, l, dir, r)
			if hit != c.hit {
				t.Errorf("hit is %v", hit)
			}
			want, err := l.Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range c.says {
				a, _ := got.Lowered(e)
				if b, ok := want.Lowered(e); !ok || a != b {
					t.Errorf("%s is %q, not %q", e, a, b)
				}
			}
			if !sameOutput(got, want) {
				t.Errorf("not what the compiler makes there:\n%s\n%s", got.Log(), want.Log())
			}
			if again, hit := outcome(t, l, dir, r); !hit || !sameOutput(again, want) {
				t.Errorf("the second time: hit is %v", hit)
			}
		})
	}
}

// A name's last part is in names of internal linkage.
func TestBaseOfANameIsInTheKey(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	for _, name := range []string{"/tmp/a.cu", "/tmp/b.cu", ""} {
		if _, hit := outcome(t, l, dir, rtc.Request{Source: []byte("__global__ void k() {}"), Name: name}); hit {
			t.Errorf("%q: hit", name)
		}
	}
}

// Of the macros that NVRTC brings, assert alone has __FILE__ in it: a new one is to be
// looked at.
func TestMacrosThatNameTheFile(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	id, err := l.Identify()
	if err != nil {
		t.Fatal(err)
	}
	builtins := ""
	for _, p := range id.Compiler {
		if strings.HasPrefix(p.Name, "libnvrtc-builtins") {
			builtins = filepath.Join(filepath.Dir(l.Path()), p.Name)
		}
	}
	b, err := os.ReadFile(builtins)
	if err != nil {
		t.Skipf("NOT RUN: this NVRTC keeps its own headers elsewhere: %v", err)
	}
	for _, name := range []string{"__FILE__", "__BASE_FILE__", "__builtin_FILE", "source_location"} {
		for rest := b; ; {
			i := bytes.Index(rest, []byte(name))
			if i < 0 {
				break
			}
			before := string(rest[max(0, i-200):i])
			if at := strings.LastIndex(before, "#define "); at < 0 || !strings.HasPrefix(before[at:], "#define assert(") {
				t.Errorf("%s in %q", name, before)
			}
			rest = rest[i+1:]
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of a header file that gives its caller's path: what is made in a directory whose name is
// random is found again in another one, unless the path is in it.
func TestRandomPlaceOfAName(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	include := t.TempDir()
	write(t, filepath.Join(include, "base.h"), "inline __device__ const char *base() { return __BASE_FILE__; }\n"+
		"inline __device__ void copy(char *p) { for (int i = 0; i < 20; i++) p[i] = __BASE_FILE__[i]; }\n")
	const here, there = "/tmp/tmpq1w2e3r4/", "/tmp/tmp_7zx8cv9/"
	unused := "#include <base.h>\nextern \"C\" __global__ void k(int *p) { int unused; *p = 1; }"
	called := "#include <base.h>\nextern \"C\" __global__ void k(const char **p) { *p = base(); }"
	copied := "#include <base.h>\nextern \"C\" __global__ void k(char *p) { copy(p); }"
	inMemory := []key.Header{{Name: "base.h", Content: []byte("inline __device__ const char *base() { return __BASE_FILE__; }\n")}}
	for _, c := range []struct {
		name, source string
		headers      []key.Header
		places       [3]string
		hits         [3]bool
		stored       int
	}{
		{"not called", unused, nil, [3]string{here, there, there}, [3]bool{false, true, true}, 1},
		{"not called, in memory", unused, inMemory, [3]string{here, there, there}, [3]bool{false, true, true}, 1},
		{"another parent", unused, nil, [3]string{here, "/var" + there, here}, [3]bool{false, false, true}, 2},
		{"not random", unused, nil, [3]string{"/tmp/a/", "/tmp/b/", "/tmp/a/"}, [3]bool{false, false, true}, 2},
		{"not random, in memory", unused, inMemory, [3]string{"/tmp/a/", "/tmp/b/", "/tmp/a/"}, [3]bool{false, false, true}, 2},
		{"called", called, nil, [3]string{here, there, there}, [3]bool{}, 0},
		{"called, in memory", called, inMemory, [3]string{here, there, there}, [3]bool{}, 0},
		{"copied", copied, nil, [3]string{here, there, there}, [3]bool{}, 0},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if c.headers != nil || c.name == "copied" {
				timing.Long(t)
			}
			dir := cacheDir(t)
			r := rtc.Request{Source: []byte(c.source), Headers: c.headers, Options: []string{"-arch=sm_80"}}
			if c.headers == nil {
				r.Options = append(r.Options, "-I"+include)
			}
			for i, place := range c.places {
				r.Name = place + "a.cubin.cu"
				got, hit := outcome(t, l, dir, r)
				want, err := l.Compile(r)
				if err != nil {
					t.Fatal(err)
				}
				if hit != c.hits[i] || !sameOutput(got, want) {
					t.Errorf("%d, %s: hit is %v; a build makes this (+), it answers this (-):\n%s\n%s", i, place, hit,
						cmp.Diff(string(got.Answer(rtc.PTX).Data), string(want.Answer(rtc.PTX).Data)), cmp.Diff(got.Log(), want.Log()))
				}
			}
			stored, err := filepath.Glob(filepath.Join(dir, "*/*/*/*/*.bin"))
			if err != nil {
				t.Fatal(err)
			}
			if len(stored) != c.stored {
				t.Errorf("%d entries, want %d", len(stored), c.stored)
			}
		})
	}
}
