package rtc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
)

const kernel = "extern \"C\" __global__ void k(int *p) { *p = N; }\n"

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api   rtc.API
		major int
		names []string // of libraries in its identity
	}{
		{rtc.NVRTC, 11, []string{"libnvrtc-builtins.so.11.8", "libnvrtc.so.11.2"}},
		{rtc.HIPRTC, 5, []string{"libLLVM-15.so.1", "libamd_comgr.so.2"}},
	} {
		l := open(t, c.api)
		if major, _ := l.Version(); major < c.major {
			t.Errorf("%v: version %d", c.api, major)
		}
		id, err := l.Identify()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.names {
			if !slices.ContainsFunc(id.Compiler, func(p key.Pair) bool { return p.Name == name }) && c.major == major(l) {
				t.Errorf("%v: no %s in %v", c.api, name, id.Compiler)
			}
		}
	}
	archs, err := open(t, rtc.NVRTC).SupportedArchs()
	if err != nil || !slices.Contains(archs, 80) {
		t.Errorf("%v, %v", archs, err)
	}
	if _, err := open(t, rtc.HIPRTC).SupportedArchs(); !errors.Is(err, rtc.ErrMissing) {
		t.Errorf("HIPRTC's architectures: %v", err)
	}
}

// A library that was replaced since it was loaded is not what lies at its name now.
func TestIdentityOfAReplacedLibrary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libnvrtc.so.11.2")
	if out, err := exec.Command("cp", open(t, rtc.NVRTC).Path(), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := rtc.Open(rtc.NVRTC, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if id, err := l.Identify(); err == nil {
		t.Errorf("it is identified as %v", id.Compiler)
	}
}

func major(l *rtc.Library) int { m, _ := l.Version(); return m }

func TestOpenWhatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := rtc.Open(rtc.NVRTC, "libnothing-of-the-kind.so.1"); !errors.Is(err, rtc.ErrNoLibrary) {
		t.Error(err)
	}
	if _, err := rtc.Open(rtc.NVRTC, "libm.so.6"); !errors.Is(err, rtc.ErrMissing) || !strings.Contains(err.Error(), "nvrtc") {
		t.Error(err)
	}
	if _, err := rtc.Open(7, ""); !errors.Is(err, rtc.ErrAPI) {
		t.Error(err)
	}
	// An old library has no name expressions.
	l := open(t, rtc.NVRTC)
	if l.Path() == "" {
		t.Error("where it is is not known")
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	source := []byte("template <class T> __global__ void t(T *p) { *p = 1; }\n")
	for _, c := range []struct {
		options []string
		some    []rtc.Form
	}{
		{nil, []rtc.Form{rtc.PTX}},
		{[]string{"-arch=compute_80"}, []rtc.Form{rtc.PTX}},
		{[]string{"-arch=sm_80"}, []rtc.Form{rtc.PTX, rtc.CUBIN}},
	} {
		o, err := l.Compile(rtc.Request{Source: source, Options: c.options, Expressions: []string{"t<int>"}})
		if err != nil {
			t.Fatal(err)
		}
		for f := range rtc.Forms() {
			if b, ok := o.Get(f); ok != slices.Contains(c.some, f) && f != rtc.NVVM && f != rtc.LTOIR && f != rtc.OptiXIR {
				t.Errorf("%q: %v: %d bytes", c.options, f, len(b))
			}
		}
		ptx, _ := o.Get(rtc.PTX)
		name, ok := o.Lowered("t<int>")
		if !ok || !bytes.Contains(ptx, []byte(".entry "+name+"(")) {
			t.Errorf("%q: lowered to %q", c.options, name)
		}
		a, err := o.Artifact(&key.Recipe{})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Kernels) != 1 || a.Kernels[0].Name != name {
			t.Errorf("%v", a.Kernels)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	for _, c := range []struct {
		r    rtc.Request
		code int
		log  string
	}{
		{rtc.Request{Source: []byte("nonsense"), Name: "a.cu"}, 6, "a.cu(1): error"},
		{rtc.Request{Source: []byte("int"), Options: []string{"--nonsense"}}, 5, "--nonsense"},
	} {
		var refused *kernstash.BuildError
		var code *rtc.Error
		_, err := l.Compile(c.r)
		if !errors.As(err, &refused) || !errors.As(err, &code) || refused.Code != c.code || code.Number != c.code || !strings.Contains(refused.Log, c.log) {
			t.Errorf("%q: %v", c.r.Source, err)
		}
	}
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	o := rtc.NewOutput(
		rtc.Answer{Asked: true, Data: []byte("a log\x00")},
		map[rtc.Form]rtc.Answer{rtc.PTX: {Asked: true, Data: []byte("ptx")}, rtc.CUBIN: {Asked: true}, rtc.LTOIR: {Asked: true, Code: 9}},
		[]rtc.Lowered{{Expression: "a<1>", Name: "_Z"}, {Expression: "b", Code: 10}},
	)
	b := o.Encode()
	again, err := rtc.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, again, cmp.AllowUnexported(rtc.Output{}), cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(again.Encode(), b) {
		t.Error("it is encoded otherwise the second time")
	}
	for i := range b {
		if _, err := rtc.Decode(b[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d", i, len(b))
		}
	}
	if _, err := rtc.Decode(append(slices.Clone(b), 0)); err == nil {
		t.Error("a byte too many")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(rtc.NewOutput(rtc.Answer{Asked: true, Data: []byte("x")}, nil, []rtc.Lowered{{Expression: "e", Name: "n"}}).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := rtc.Decode(b); err == nil && !bytes.Equal(o.Encode(), b) {
			t.Errorf("%q", b)
		}
	})
}

// What the core is asked is what is compiled.
func TestRequestsSurviveTheCore(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	for _, r := range []rtc.Request{
		{Options: []string{"-DA=1", `-DB="x y"`, `-DC='\'`, "-DE= f\t", "", "bare"}},
		{Name: "dir/a b%.cu", Expressions: []string{"%y", "&a::b", "@x", `k<'\''>`, "k<float, -1>"}},
		{Name: "/dir/a b%.cu", Options: []string{"-w"}},
		{Name: "/dir/a b%.cu", Options: []string{"-G"}},
		{Options: []string{"-I", "/a b", "-I/c", "--include-path=/d"}},
		{Headers: []key.Header{{Name: "a.h", Content: []byte("typedef int a;")}}},
		{Name: "empty.cu", Options: []string{"-DA"}},
	} {
		switch {
		case len(r.Headers) > 0:
			r.Source = []byte("#include \"a.h\"\nint x;")
		case r.Name != "empty.cu":
			r.Source = []byte("int x;")
		}
		q, err := l.Core(r)
		if err != nil {
			t.Fatal(err)
		}
		rec := &key.Recipe{Image: q.Image.Image, Options: key.BuildOptions{Compile: key.Tokens(q.CompileOptions), Attributes: q.Attributes, Unkeyed: q.Unkeyed}}
		again, err := rtc.FromRecipe(rec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v: %s", r, diff)
		}
	}
	for _, c := range [][2]string{{"-I dir", "-I,dir"}, {"-I=dir", "-Idir"}, {"-D A=1", "-DA=1"}, {"-U A", "-U,A"}, {"-arch sm_80", "-arch\\,sm_80"}} {
		q, err := l.Core(rtc.Request{Source: []byte("int x;"), Options: []string{c[0]}})
		if want := strings.ReplaceAll(c[1], ",", " "); err != nil || q.CompileOptions != want {
			t.Errorf("%q is %q, %v", c[0], q.CompileOptions, err)
		}
	}
}

// CuPy compiles an empty source, to tell compilers apart.
func TestEmptySource(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	for i, source := range []string{"", "\n", ""} {
		r := rtc.Request{Source: []byte(source), Options: []string{"-arch=compute_80"}}
		got, hit := outcome(t, l, dir, r)
		if hit != (i == 2) {
			t.Errorf("%q, request %d: hit is %v", source, i, hit)
		}
		want, err := l.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		// Of an empty log NVRTC 11.8 says now that it has no bytes, now that it has one, a NUL.
		if got.Log() != want.Log() || !cmp.Equal(answers(got), answers(want), cmpopts.EquateEmpty()) {
			t.Errorf("%q: not what the compiler makes of it:\n%q\n%q", source, got.Encode(), want.Encode())
		}
	}
}

// answers returns all that was asked of a program but for its log.
func answers(o *rtc.Output) (all []rtc.Answer) {
	for f := rtc.PTX; f.String() != "unknown form"; f++ {
		all = append(all, o.Answer(f))
	}
	return all
}

// Each of these makes other code of the same source, or may.
func TestWhatIsInTheKey(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	base := rtc.Request{Source: []byte("#define N 1\n" + kernel), Name: "a.cu", Options: []string{"-arch=compute_80"}}
	if _, hit := outcome(t, l, dir, base); hit {
		t.Fatal("hit in an empty cache")
	}
	if _, hit := outcome(t, l, dir, base); !hit {
		t.Fatal("no hit")
	}
	for _, c := range []struct {
		name   string
		change func(r *rtc.Request)
	}{
		{"source", func(r *rtc.Request) { r.Source = []byte("#define N 2\n" + kernel) }},
		{"name", func(r *rtc.Request) { r.Name = "b.cu" }},
		{"no name", func(r *rtc.Request) { r.Name = "" }},
		{"option", func(r *rtc.Request) { r.Options = []string{"-arch=compute_75"} }},
		{"order", func(r *rtc.Request) { r.Options = []string{"-DA", "-UA"} }},
		{"order, again", func(r *rtc.Request) { r.Options = []string{"-UA", "-DA"} }},
		{"order of one name's", func(r *rtc.Request) { r.Options = []string{"-DA=1", "-DA=2"} }},
		{"order of one name's, again", func(r *rtc.Request) { r.Options = []string{"-DA=2", "-DA=1"} }},
		{"one word", func(r *rtc.Request) { r.Options = []string{"-arch=compute_80", "-DA=b c"} }},
		{"another word", func(r *rtc.Request) { r.Options = []string{"-arch=compute_80", "-DA=b  c"} }},
		{"expression", func(r *rtc.Request) { r.Expressions = []string{"k"} }},
		{"header", func(r *rtc.Request) { includes(r, "h.h", "h.h", "typedef int a;") }},
		{"order of expressions", func(r *rtc.Request) {
			r.Source, r.Expressions = []byte("template <int> __global__ void t() {}\n"), []string{"t<__LINE__>", "t<5 + __LINE__>"}
		}},
		{"order of expressions, again", func(r *rtc.Request) {
			r.Source, r.Expressions = []byte("template <int> __global__ void t() {}\n"), []string{"t<5 + __LINE__>", "t<__LINE__>"}
		}},
		{"an option between another and its argument", func(r *rtc.Request) { r.Options = []string{"-rdc", "true", "-DX=1"} }},
		{"an option before another and its argument", func(r *rtc.Request) { r.Options = []string{"-DX=1", "-rdc", "true"} }},
		{"a header of the compiler's", func(r *rtc.Request) {
			r.Source, r.Expressions = []byte("template <int> __global__ void t() {}\n"), []string{"t<6>"}
			r.Headers = []key.Header{{Name: "__nv_name_map", Content: []byte("\n")}}
		}},
		{"its content", func(r *rtc.Request) {
			r.Source, r.Expressions = []byte("template <int> __global__ void t() {}\n"), []string{"t<6>"}
			r.Headers = []key.Header{{Name: "__nv_name_map", Content: []byte("// another\n")}}
		}},
		{"header's content", func(r *rtc.Request) { includes(r, "h.h", "h.h", "typedef int b;") }},
		{"header's name", func(r *rtc.Request) { includes(r, "i.h", "i.h", "typedef int b;") }},
		{"a header that a header includes", func(r *rtc.Request) { includes(r, "h.h", "h.h", "#include \"i.h\"", "i.h", "typedef int a;") }},
		{"its content", func(r *rtc.Request) { includes(r, "h.h", "h.h", "#include \"i.h\"", "i.h", "typedef int b;") }},
	} {
		r := base
		c.change(&r)
		if _, hit := outcome(t, l, dir, r); hit {
			t.Errorf("%s: hit", c.name)
		}
		if _, hit := outcome(t, l, dir, r); !hit {
			t.Errorf("%s: no hit the second time", c.name)
		}
	}
}

// includes has a request include a header, and gives it headers: names and contents.
func includes(r *rtc.Request, name string, headers ...string) {
	r.Source = append([]byte("#include \""+name+"\"\n"), r.Source...)
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, key.Header{Name: headers[i], Content: []byte(headers[i+1] + "\n")})
	}
}

// What is the same to the compiler is one request; and what is served is what it makes.
func TestTheSameToTheCompiler(t *testing.T) {
	t.Parallel()
	l := open(t, rtc.NVRTC)
	source := []byte("template <class T> __global__ void t(T *p) { *p = A + B; }\n" + kernel)
	unused := key.Header{Name: "unused.h", Content: []byte("#error unused\n")}
	all := []rtc.Request{
		{Options: []string{"-arch=sm_80", "-DA=1", "-DB=2", "-DN=3", "-w"}, Expressions: []string{"t<int>", "t<float>"}},
		{Options: []string{"-DN=3", "-w", "-DB=2", "--gpu-architecture=sm_80", "-DA=1"}, Expressions: []string{"t<float>", "t<int>"}},
		{
			Options:     []string{"-D", "A=1", "--define-macro=B=2", "-arch", "sm_80", "-D N=3", "-w"},
			Expressions: []string{"t<int>", "t<float>"}, Headers: []key.Header{unused},
		},
		{
			Options:     []string{"--gpu-architecture", "sm_80", "--define-macro", "A=1", "-D  B=2", "-DN=3", "-w"},
			Expressions: []string{"t<int>", "t<float>"}, Headers: []key.Header{unused, {Name: "b/unused.h"}},
		},
	}
	dir := cacheDir(t)
	for i, r := range all {
		r.Source = source
		got, hit := outcome(t, l, dir, r)
		if hit != (i > 0) {
			t.Errorf("request %d: hit is %v", i, hit)
		}
		want, err := l.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		if !sameOutput(got, want) {
			t.Errorf("request %d: not what the compiler makes of it", i)
		}
		for _, e := range r.Expressions {
			a, _ := got.Lowered(e)
			if b, ok := want.Lowered(e); !ok || a != b {
				t.Errorf("request %d: %s is %q, not %q", i, e, a, b)
			}
		}
	}
}

// What NVRTC refuses is not what it takes in other words.
func TestRefusedSpellings(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	for _, o := range []string{"-arch compute_80", "--gpu-architecture compute_80", "--define-macro A", "--undefine-macro A", "--include-path /usr"} {
		r := rtc.Request{Source: []byte("__global__ void k() {}"), Options: strings.Fields(o)}
		outcome(t, l, dir, r)
		r.Options = []string{o}
		c, _ := compiler(t, l, dir)
		got, err := c.Compile(t.Context(), r)
		_, real := l.Compile(r)
		if (err == nil) != (real == nil) {
			t.Errorf("%q: %v, %v; the compiler says %v", o, got, err, real)
		}
	}
}

// What DeepGEMM passes: words for ptxas, and --pch, where NVRTC knows it. What is made with
// precompiled header files is kept if none has changed since these were made: NVRTC 13.0 takes
// one for current if a header file was changed in the same second.
func TestOptionsOfDeepGEMM(t *testing.T) {
	t.Parallel()
	for _, l := range nvrtcs(t) {
		for _, more := range [][]string{nil, {"--pch"}, {"--pch", "--pch-verbose=true"}} {
			dir, include := cacheDir(t), t.TempDir()
			request := func(code string) rtc.Request {
				return rtc.Request{
					Source: []byte("#include <n.h>\n" + code), Name: "kernel.cu",
					Options: append([]string{"-I" + include, "--std=c++17", "-arch=sm_80", "--ptxas-options=--register-usage-level=10"}, more...),
				}
			}
			write(t, filepath.Join(include, "n.h"), "#define N 41\n")
			if _, err := l.Compile(request(kernel)); err != nil && more != nil {
				major, minor := l.Version()
				t.Logf("NOT RUN: NVRTC %d.%d has no %s", major, minor, unknownOption(err))
				break
			}
			if more != nil { // a name of its own, so that nothing is precompiled yet
				include = t.TempDir()
				write(t, filepath.Join(include, "n.h"), "#define N 41\n")
			}
			const another = kernel + "// it uses what is precompiled\n"
			number := "41"
			first, cache := compiler(t, l, dir) // whose process knows what is precompiled
			for i, c := range []struct {
				code, number string
				hit          bool
			}{
				{kernel, "41", false},
				{kernel, "41", true},
				{another, "41", false},
				{another, "41", true},
				{kernel, "42", false},
				{kernel, "42", true},
				{kernel, "41", true},
			} {
				if c.number != number {
					number = c.number
					write(t, filepath.Join(include, "n.h"), "#define N "+number+"\n")
				}
				by, from := first, cache
				if c.hit {
					by, from = compiler(t, l, dir)
				}
				o, why := servedBy(t, by, from, request(c.code))
				ptx, _ := o.Get(rtc.PTX)
				if right := bytes.Contains(ptx, []byte(", "+c.number+";")); (why == "") != c.hit && (more == nil || number == "41") || !right && (why == "" || why == miss) {
					t.Errorf("%q, %d: %q, with %s: %v\n%s", more, i, why, c.number, right, o.Log())
				}
			}
		}
	}
}

// Programs that read header files.
func TestHeaderFiles(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	work := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/n.h", "#include \"m.h\"\n#define N M\n")
	write("a/m.h", "#define M 41\n")
	write("b/n.h", "#include \"m.h\"\n#define N M\n")
	write("b/m.h", "#define M 41\n")
	if err := os.Mkdir(filepath.Join(work, "first"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(folder string, more ...string) rtc.Request {
		return rtc.Request{
			Source: []byte("#include <n.h>\n" + kernel), Name: "x.cu",
			Options: append([]string{"-arch=compute_80", "-I", filepath.Join(work, "first"), "-I" + filepath.Join(work, folder)}, more...),
		}
	}
	check := func(what string, r rtc.Request, want bool, number string) {
		t.Helper()
		o, hit := outcome(t, l, dir, r)
		ptx, _ := o.Get(rtc.PTX)
		if hit != want || !bytes.Contains(ptx, []byte(", "+number+";")) {
			t.Errorf("%s: hit %v, with %s: %v", what, hit, number, bytes.Contains(ptx, []byte(", "+number+";")))
		}
	}
	check("cold", in("a"), false, "41")
	check("warm", in("a"), true, "41")
	check("another folder, the same content", in("b"), true, "41")
	check("where paths matter", in("a", "-lineinfo"), false, "41")
	check("where paths matter, another folder", in("b", "-lineinfo"), false, "41")
	write("a/m.h", "#define M 42\n")
	check("another header", in("a"), false, "42")
	check("the other folder is as it was", in("b"), true, "41")
	write("first/n.h", "#define N 43\n")
	check("a header that goes before", in("a"), false, "43")
	if err := os.Remove(filepath.Join(work, "first/n.h")); err != nil {
		t.Fatal(err)
	}
	check("it is gone", in("a"), true, "42")
	write("a/m.h", "#define M 42\n")
	check("touched", in("a"), true, "42")
}

// What cannot be known is compiled, and counted.
func TestNotCacheable(t *testing.T) {
	t.Parallel()
	header := filepath.Join(t.TempDir(), "h.h")
	if err := os.WriteFile(header, []byte("#define N 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		api  rtc.API
		r    rtc.Request
	}{
		{"time", rtc.NVRTC, rtc.Request{Source: []byte("__device__ const char t[] = __TIME__;\n#define N 1\n" + kernel)}},
		{"a file of its own", rtc.NVRTC, rtc.Request{Source: []byte(kernel), Options: []string{"--pre-include=" + header}}},
		{"an include in a comment that a carriage return would begin", rtc.NVRTC, rtc.Request{Source: []byte("// \r/*\n#include \"" + header + "\"\n// */\n" + kernel)}},
		{"no architecture", rtc.HIPRTC, rtc.Request{Source: []byte("#define N 1\n" + kernel)}},
		{"an expression with an include", rtc.NVRTC, rtc.Request{Source: []byte("#define N 1\n" + kernel), Expressions: []string{"k\n#include \"" + header + "\"\n"}}},
		{"an expression with a time", rtc.NVRTC, rtc.Request{Source: []byte("template <int> __global__ void k() {}"), Expressions: []string{"k<sizeof(__TIME__)>"}}},
	} {
		l, dir := open(t, c.api), cacheDir(t)
		for range 2 {
			x, cache := compiler(t, l, dir)
			if _, err := x.Compile(t.Context(), c.r); err != nil && c.api == rtc.NVRTC {
				t.Errorf("%s: %v", c.name, err)
			}
			cache.Flush(1e9)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, "*/*/*/*/*.bin")); len(entries) != 0 {
			t.Errorf("%s: %q", c.name, entries)
		}
	}
}

// An option of NVRTC's and its argument are not taken apart: what it refuses is not what it
// takes in another order.
func TestOrdersOfOptions(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	for _, c := range []struct{ good, bad []string }{
		{[]string{"-DX=1", "-rdc", "true"}, []string{"-rdc", "-DX=1", "true"}},
		{[]string{"-DX=1", "-diag-suppress", "177"}, []string{"-diag-suppress", "-DX=1", "177"}},
		{[]string{"-DX=1", "-dopt", "on"}, []string{"-dopt", "-DX=1", "on"}},
		{[]string{"-arch=compute_80", "-w"}, []string{"-arch=COMPUTE_80", "-arch=compute_80", "-w"}},
	} {
		r := rtc.Request{Source: []byte("__global__ void k() {}"), Options: c.good}
		outcome(t, l, dir, r)
		r.Options = c.bad
		x, _ := compiler(t, l, dir)
		if _, err := x.Compile(t.Context(), r); err == nil {
			t.Errorf("%q is served; the compiler refuses it", c.bad)
		}
	}
}

// Of options that are both refused, the compiler names the one that comes first as the caller has them.
func TestFirstRefusedOption(t *testing.T) {
	t.Parallel()
	for _, l := range nvrtcs(t) {
		c, _ := compiler(t, l, cacheDir(t))
		for _, options := range [][]string{{"-DX=1", "--std", "c++17", "-arch=sm_1"}, {"-arch=sm_1", "--std", "c++17", "-DX=1"}} {
			r := rtc.Request{Source: []byte(kernel), Options: options}
			_, want := l.Compile(r)
			_, err := c.Compile(t.Context(), r)
			if err == nil || want == nil || logOf(err) != logOf(want) {
				t.Errorf("%q: %v, want %v", options, err, want)
			}
		}
	}
}

// HIPRTC includes a header of its own, whose place one in memory takes, without an include
// in the source.
func TestHeadersThatHIPRTCIncludes(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.HIPRTC), cacheDir(t)
	r := rtc.Request{Source: []byte("__attribute__((global)) void k(int *p) { *p = N; }"), Options: []string{"--offload-arch=gfx90a"}}
	for _, content := range []string{"#define N 1\n", "#define N 2\n"} {
		r.Headers = []key.Header{{Name: "hiprtc_runtime.h", Content: []byte(content)}}
		got, hit := outcome(t, l, dir, r)
		want, err := l.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		if hit || !sameOutput(got, want) {
			t.Errorf("%q: hit is %v", content, hit)
		}
	}
}

// What a program with many headers costs grows as they do, not as their square.
func TestManyHeaders(t *testing.T) {
	l := open(t, rtc.NVRTC)
	cost := func(n int) time.Duration {
		r := rtc.Request{Source: []byte("#include \"0.h\"\n" + kernel)}
		for i := range n {
			text := fmt.Sprintf("#include \"%d.h\"\n", (i+1)%n)
			r.Headers = append(r.Headers, key.Header{Name: fmt.Sprintf("%d.h", i), Content: []byte(text)})
		}
		began := time.Now()
		if _, err := l.Core(r); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	const times = 16
	var few, many time.Duration
	for range 5 { // other processes may take the processor
		few, many = cost(500), cost(times*500)
		if many < 3*times*few {
			return
		}
	}
	t.Errorf("%v and %v", few, many)
}

func TestHIP(t *testing.T) {
	t.Parallel()
	l, dir := open(t, rtc.HIPRTC), cacheDir(t)
	r := rtc.Request{
		Source: []byte("template <class T> __global__ void t(T *p) { *p = 1; }\n"), Name: "a.hip",
		Options: []string{"--offload-arch=gfx90a"}, Expressions: []string{"t<float>"},
	}
	cold, hit := outcome(t, l, dir, r)
	code, _ := cold.Get(rtc.Code)
	if name, _ := cold.Lowered("t<float>"); hit || name != "_Z1tIfEvPT_" || !bytes.HasPrefix(code, []byte("\x7fELF")) {
		t.Errorf("hit %v, %q, %d bytes", hit, name, len(code))
	}
	warm, hit := outcome(t, l, dir, r)
	if !hit || !bytes.Equal(cold.Encode(), warm.Encode()) {
		t.Errorf("hit %v", hit)
	}
	r.Options = []string{"--offload-arch=gfx1030"}
	if _, hit := outcome(t, l, dir, r); hit {
		t.Error("hit for another architecture")
	}
}
