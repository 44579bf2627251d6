package rtc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/key"
)

// toolkit opens a library of NVIDIA's toolkit.
func toolkit(t testing.TB, api rtc.API, soname string) *rtc.Library {
	t.Helper()
	l, err := rtc.Open(api, filepath.Join(needs.CUDA(t), "lib64", soname))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ptxInput(name string) rtc.Input {
	const text = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry %s()\n{\n\tret;\n}\n"
	return rtc.Input{Kind: rtc.InputPTX, Named: true, Name: name, Code: fmt.Appendf(nil, text, name)}
}

func TestLink(t *testing.T) {
	t.Parallel()
	l := toolkit(t, rtc.NVJitLink, "libnvJitLink.so.12")
	if major, minor := l.Version(); major != 12 || minor != 4 {
		t.Errorf("version %d.%d", major, minor)
	}
	dir := cacheDir(t)
	r := rtc.Request{Options: []string{"-arch=sm_80", "-Xptxas=-v"}, Inputs: []rtc.Input{ptxInput("a"), ptxInput("b")}}
	plain, err := l.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := plain.Get(rtc.LinkedCUBIN)
	for _, warm := range []bool{false, true} {
		o, hit := outcome(t, l, dir, r)
		code, ok := o.Get(rtc.LinkedCUBIN)
		if !ok || !bytes.Equal(code, want) || hit != warm || o.Log() != plain.Log() || !strings.Contains(o.Log(), "'b' for 'sm_80'") {
			t.Errorf("hit: %v, want %v; %d bytes, want %d; log %q", hit, warm, len(code), len(want), o.Log())
		}
	}
	r.Inputs[0], r.Inputs[1] = r.Inputs[1], r.Inputs[0]
	if _, hit := outcome(t, l, dir, r); hit {
		t.Error("the other order is a hit")
	}
	r.Inputs[1].Code = []byte(".version 8.4\n.target sm_80\nbogus\n")
	c, _ := compiler(t, l, dir)
	_, err = c.Compile(t.Context(), r)
	if built := new(kernstash.BuildError); !errors.As(err, &built) || !strings.Contains(built.Log, "bogus") || built.Code != 4 {
		t.Errorf("PTX that is none: %v", err)
	}
}

func TestNVVM(t *testing.T) {
	t.Parallel()
	l := toolkit(t, rtc.LibNVVM, "libnvvm.so.4")
	dir := cacheDir(t)
	const text = "target triple = \"nvptx64-nvidia-cuda\"\n" +
		"target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n" +
		"define void @k() {\n  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{void ()* @k, !\"kernel\", i32 1}\n!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0}\n"
	r := rtc.Request{Options: []string{"-arch=compute_80"}, Inputs: []rtc.Input{{Named: true, Name: "m", Code: []byte(text)}}}
	for _, warm := range []bool{false, true} {
		o, hit := outcome(t, l, dir, r)
		if code, ok := o.Get(rtc.Result); !ok || hit != warm || !bytes.Contains(code, []byte(".visible .entry k(")) {
			t.Errorf("hit: %v, want %v: %s", hit, warm, code)
		}
	}
	libdevice, err := os.ReadFile(needs.CUDA(t) + "/nvvm/libdevice/libdevice.10.bc")
	if err != nil {
		t.Fatal(err)
	}
	r.Inputs = append(r.Inputs, rtc.Input{Named: true, Name: "libdevice", Code: libdevice})
	all, hit := outcome(t, l, dir, r)
	r.Inputs[1].Too = true
	none, other := outcome(t, l, dir, r)
	a, _ := all.Get(rtc.Result)
	b, _ := none.Get(rtc.Result)
	if hit || other || len(a) == 0 || len(b) == 0 {
		t.Errorf("libdevice: hit %v, %d bytes; looked into at need: hit %v, %d bytes", hit, len(a), other, len(b))
	}
}

// What is not known of a link is the library's own affair.
func TestUnknownInputs(t *testing.T) {
	t.Parallel()
	l := toolkit(t, rtc.NVJitLink, "libnvJitLink.so.12")
	cubin, err := l.Compile(rtc.Request{Options: []string{"-arch=sm_80"}, Inputs: []rtc.Input{ptxInput("a")}})
	if err != nil {
		t.Fatal(err)
	}
	code, _ := cubin.Get(rtc.LinkedCUBIN)
	with := func(kind uint32, code []byte) []rtc.Input { return []rtc.Input{{Kind: kind, Code: code}} }
	for name, c := range map[string]struct {
		options []string
		inputs  []rtc.Input
		want    string // in the error; "": it is known
	}{
		"PTX":                {[]string{"-arch=sm_90a", "-lineinfo", "-Xptxas=-O1", "-Xptxas=--warn-on-spills", "-fma=0"}, []rtc.Input{ptxInput("a")}, ""},
		"CUBIN":              {[]string{"-arch=sm_80"}, with(rtc.InputCUBIN, code), ""},
		"-time":              {[]string{"-time"}, []rtc.Input{ptxInput("a")}, "-time"},
		"-verbose":           {[]string{"-verbose"}, []rtc.Input{ptxInput("a")}, "-verbose"},
		"-g":                 {[]string{"-g"}, []rtc.Input{ptxInput("a")}, "-g"},
		"an option of ptxas": {[]string{"-Xptxas=--options-file=x"}, []rtc.Input{ptxInput("a")}, "--options-file"},
		"options of ptxas": {
			[]string{"-Xptxas=--suppress-stack-size-warning", "-Xptxas=-regUsageLevel=5", "-Xptxas=-lineinfo", "-Xptxas=--fmad=false"},
			[]rtc.Input{ptxInput("a")},
			"",
		},
		"one behind a value": {[]string{"-Xptxas=--maxrregcount=32 -g"}, []rtc.Input{ptxInput("a")}, "-g"},
		"several at once":    {[]string{"-Xptxas=--maxrregcount=32,-g"}, []rtc.Input{ptxInput("a")}, "-g"},
		"another behind it":  {[]string{"-Xptxas=-v\n-g"}, []rtc.Input{ptxInput("a")}, "-v"},
		"a kind":             {nil, with(7, code), "kind 7"},
		"CUBIN, cut":         {nil, with(rtc.InputCUBIN, code[:len(code)-1]), "cut"},
		"a fat binary, cut":  {nil, with(rtc.InputFatbin, []byte("\x50\xed\x55\xba\x01\x00\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00")), "cut"},
		".file":              {nil, with(rtc.InputPTX, []byte(".file 1 a.cu")), ".file"},
		"no input":           {nil, nil, "empty"},
	} {
		_, err := l.Core(rtc.Request{Options: c.options, Inputs: c.inputs})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A recipe holds the request that it was made of.
func TestInputsOfRecipes(t *testing.T) {
	t.Parallel()
	l := toolkit(t, rtc.NVJitLink, "libnvJitLink.so.12")
	file, none := ptxInput("a =b"), ptxInput("")
	file.Too, none.Named, none.Kind = true, false, rtc.InputAny
	want := rtc.Request{Options: []string{"-arch=sm_80", "-kernels-used=a b"}, Inputs: []rtc.Input{ptxInput(""), file, none}, Adding: true}
	q, err := l.Core(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rtc.FromRecipe(&key.Recipe{
		Device: key.Device{API: "nvjitlink"}, Image: q.Image.Image,
		Options: key.BuildOptions{Compile: key.Tokens(q.CompileOptions), Attributes: q.Attributes},
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("a.cu", []byte("__TIME__"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(value string) []key.Pair {
		return []key.Pair{{Name: "input", Value: "2"}, {Name: "file", Value: value}}
	}
	before, after := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		value string
		began time.Time
		good  bool
	}{
		"it was written since":                 {"a.cu: 1 ns, 8 bytes", before, false},
		"it was written before":                {"a.cu: 1 ns, 8 bytes", after, true},
		"by its path":                          {filepath.Join(dir, "a.cu") + ": 1 ns, 8 bytes", after, true},
		"one was removed, where others are":    {"b.cu: absent", before, false},
		"there was none":                       {"b.cu: absent", after, true},
		"in no directory":                      {"/nowhere/of: this/b.cu: absent", after, true},
		"it is a directory":                    {".: not to be seen", after, true},
		"a request without inputs, whose when": {"a.cu: 1 ns, 8 bytes", time.Time{}, true},
	} {
		if err := rtc.Unchanged(file(test.value), test.began); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rtc.Unchanged(nil, before); err != nil {
		t.Error(err)
	}
}
