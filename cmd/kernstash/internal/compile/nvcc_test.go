//go:build linux

package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
)

// nvcc returns the real one, and the option that names a host compiler for it: CUDA 12.4 takes none
// behind GCC 13.
func nvcc(t *testing.T) (tool, host string) {
	t.Helper()
	tool = filepath.Join(needs.CUDA(t), "bin", "nvcc")
	for _, name := range []string{"g++-12", "g++-13"} {
		if _, err := exec.LookPath(name); err == nil {
			return tool, "-ccbin=" + name
		}
	}
	return tool, "-ccbin=" + filepath.Base(needs.Tool(t, "g++", "g++"))
}

// source reads a header three levels deep, and warns.
var source = map[string]string{
	"k.cu": "#include \"a.h\"\n#pragma unroll\n__global__ void k(float *p) { int unused; p[threadIdx.x] = F(p[threadIdx.x]) + X; }\n" +
		"void run(float *p) { k<<<1, 32>>>(p); }\n",
	"a.h":        "#include \"b.h\"\n",
	"b.h":        "#include <c.h>\n",
	"late/c.h":   "#define F(x) ((x) * 2)\n#ifndef X\n#define X 0\n#endif\n",
	"early/none": "",
}

// newSource returns a place with that source, whose files have lain there for a while.
func newSource(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	for name, text := range source {
		if err := os.MkdirAll(filepath.Join(p.dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(name, text)
	}
	p.env = append(p.env, "KERNSTASH_REPORT="+p.cache+".report")
	if err := os.WriteFile(p.cache+".report", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.report())
		}
	})
	time.Sleep(50 * time.Millisecond)
	return p
}

// report returns what the processes with the cache reported.
func (p *place) report() string {
	b, _ := os.ReadFile(p.cache + ".report")
	return string(b)
}

// temporaryNames is the name of nvcc's temporary files, which it writes into objects.
var temporaryNames = regexp.MustCompile(`tmpxft_[0-9a-f]{8}`)

func (p *place) object(name string) string {
	p.t.Helper()
	return temporaryNames.ReplaceAllString(p.read(name), "tmpxft_????????")
}

// alike reports whether two files are what nvcc makes of the same twice: with debug information the
// order of texts depends on temporary names.
func alike(a, b string, args []string) bool {
	if slices.Contains(args, "-g") || slices.Contains(args, "--debug") {
		return len(a) == len(b)
	}
	return temporaryNames.ReplaceAllString(a, "tmpxft") == temporaryNames.ReplaceAllString(b, "tmpxft")
}

// TestNVCC: what is written, said and answered is what nvcc writes, says and answers, where it runs
// and where it does not.
func TestNVCC(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	for name, args := range map[string][]string{
		"object":                  {"-c", "k.cu", "-o", "out"},
		"object without a name":   {"-c", "k.cu"},
		"cubin":                   {"-cubin", "k.cu", "-o", "out", "-lineinfo"},
		"PTX":                     {"--ptx", "-o", "out", "k.cu"},
		"fat binary":              {"k.cu", "-fatbin", "-o", "out"},
		"debug information":       {"-g", "-c", "k.cu", "-o", "out"},
		"PyTorch's extensions":    {"--generate-dependencies-with-compile", "--dependency-output", "d", "-DTORCH_EXTENSION_NAME=x", "-D__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr", "-gencode=arch=compute_80,code=compute_80", "-gencode=arch=compute_80,code=sm_80", "--compiler-options", "-fPIC", "-std=c++17", "-c", "k.cu", "-o", "out"},
		"DeepGEMM":                {"k.cu", "-cubin", "-o", "out", "-std=c++20", "--diag-suppress=39,161,174,177,186,940", "--ptxas-options=--register-usage-level=10", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", "--gpu-architecture=sm_90a", "--compiler-options=-fPIC,-O3,-fconcepts,-Wno-deprecated-declarations,-Wno-abi"},
		"CMake":                   {"-forward-unknown-to-host-compiler", "-O3", "-DNDEBUG", "-std=c++17", "--generate-code=arch=compute_80,code=[compute_80,sm_80]", "-Xcompiler=-fPIC", "-MD", "-MT", "k.cu.o", "-MF", "d", "-x", "cu", "-rdc=false", "-c", "k.cu", "-o", "out"},
		"FlashInfer":              {"--generate-dependencies-with-compile", "--dependency-output", "d", "-O3", "--threads=2", "-use_fast_math", "-DFLASHINFER_ENABLE_F16", "-Xfatbin=-compress-all", "-gencode=arch=compute_80,code=sm_80", "-c", "k.cu", "-o", "out"},
		"what ptxas says":         {"-Xptxas", "-v", "-cubin", "k.cu", "-o", "out"},
		"dependencies, and a way": {"-MMD", "-MF", "d", "-MP", "-c", filepath.Join(".", "late", "..", "k.cu"), "-o", "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			args := append([]string{tool, host, "-Ilate"}, args...)
			made := func() map[string]string {
				files := make(map[string]string)
				for _, name := range []string{"out", "k.o", "d"} {
					if info, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
						files[name] = info.Mode().String() + p.read(name)
						os.Remove(filepath.Join(p.dir, name))
					}
				}
				return files
			}
			want, files := p.plain(args...), made()
			if want.Status != 0 {
				t.Fatalf("%+v", want)
			}
			for i, what := range []string{"miss", "hit", "hit"} {
				if d := cmp.Diff(want, p.served(args...)); d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
				now := made()
				if i == 0 && len(now) == len(files) {
					for name := range now {
						if !alike(files[name], now[name], args) {
							t.Errorf("%s: another %s", what, name)
						}
					}
				} else if !cmp.Equal(files, now) {
					t.Errorf("%s: other files than those of the miss", what)
				}
				files = now
			}
			p.wantCounts(1, 2)
		})
	}
}

// toolkit returns a nvcc whose programs can be changed.
func toolkit(t *testing.T) string {
	t.Helper()
	tool, _ := nvcc(t)
	from, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(tool), ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"bin/crt", "bin/cudafe++", "bin/fatbinary", "bin/ptxas", "include", "nvvm/bin/cicc", "nvvm/libdevice"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	copied(t, filepath.Join(from, "bin/nvcc.profile"), filepath.Join(dir, "bin/nvcc.profile"), "")
	return copied(t, filepath.Join(from, "bin/nvcc"), filepath.Join(dir, "bin/nvcc"), "")
}

// copied copies a file, with more behind it.
func copied(t *testing.T, from, to, more string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(to)
	if err := needs.WriteProgram(to, append(b, more...), 0o700); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestInputsOfNVCC: what decides the output of nvcc decides what is found.
func TestInputsOfNVCC(t *testing.T) {
	t.Parallel()
	_, host := nvcc(t)
	touch := func(p *place, tool string) {
		later := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(p.dir, "k.cu"), later, later); err != nil {
			t.Error(err)
		}
	}
	hosts := func(script bool) func(p *place, tool string) {
		return func(p *place, tool string) {
			_, name, _ := strings.Cut(host, "=")
			path := filepath.Join(p.dir, "early", name)
			real, err := exec.LookPath(name)
			if err == nil && script {
				err = needs.WriteProgram(path, []byte("#!/bin/sh\nexec "+real+" -DX=7 \"$@\"\n"), 0o700)
			} else if err == nil {
				err = os.Symlink(real, path)
			}
			if err != nil {
				t.Error(err)
			}
			p.env = append(p.env, "PATH="+filepath.Join(p.dir, "early")+":"+os.Getenv("PATH"))
		}
	}
	for name, test := range map[string]struct {
		args   []string
		change func(p *place, tool string)
		found  int64
	}{
		"nothing":                   {change: func(*place, string) {}, found: 1},
		"the input's time":          {change: touch, found: 1},
		"its time, and lines":       {args: []string{"-lineinfo"}, change: touch},
		"a header with its content": {change: func(p *place, _ string) { p.write("late/c.h", source["late/c.h"]) }, found: 1},
		"a header, three deep":      {change: func(p *place, _ string) { p.write("late/c.h", "#define F(x) ((x) * 3)\n#define X 0\n") }},
		"no such header": {change: func(p *place, _ string) {
			os.Rename(filepath.Join(p.dir, "late/c.h"), filepath.Join(p.dir, "early/c.h"))
		}},
		"a new header before it": {change: func(p *place, _ string) { p.write("early/c.h", "#define F(x) ((x) * 4)\n#define X 0\n") }},
		"a file of another name": {change: func(p *place, _ string) { p.write("early/d.h", "#error\n") }, found: 1},
		"an option":              {change: func(p *place, _ string) { p.env = append(p.env, "NVCC_APPEND_FLAGS=-DX=5") }},
		"a variable of GCC":      {change: func(p *place, _ string) { p.env = append(p.env, "CPATH=/nowhere") }},
		"a function of bash's":   {change: func(p *place, _ string) { p.env = append(p.env, "BASH_FUNC_cicc%%=() { :; }") }},
		"a variable of nobody":   {change: func(p *place, _ string) { p.env = append(p.env, "FOO=1", "CUDA_VISIBLE_DEVICES=1") }, found: 1},
		"the job server of make": {change: func(p *place, _ string) { p.env = append(p.env, "MAKEFLAGS= -j8 --jobserver-auth=fifo:/tmp/GMfifo12") }, found: 1},
		"another terminal":       {change: func(p *place, _ string) { p.env = append(p.env, "TERM=screen-256color") }, found: 1},
		"the host compiler":      {change: hosts(true)},
		"its path":               {change: hosts(false)},
		"nvcc":                   {change: func(_ *place, tool string) { copied(t, tool, tool, "x") }},
		"nvcc.profile":           {change: func(_ *place, tool string) { copied(t, tool+".profile", tool+".profile", "\nNVVM_FLAGS +=\n") }},
		"ptxas": {change: func(_ *place, tool string) {
			path := filepath.Join(filepath.Dir(tool), "ptxas")
			copied(t, path, path, "x")
		}},
		"cicc": {change: func(_ *place, tool string) {
			path := filepath.Join(filepath.Dir(tool), "../nvvm/bin/cicc")
			copied(t, path, path, "x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tool := newSource(t), toolkit(t)
			args := append([]string{tool, host, "-cubin", "-Iearly", "-Ilate", "k.cu", "-o", "out"}, test.args...)
			time.Sleep(50 * time.Millisecond)
			p.served(args...)
			p.wantCounts(1, 0)
			test.change(p, tool)
			want := p.plain(args...)
			object := p.object("out")
			got := p.served(args...)
			if d := cmp.Diff(want, got); d != "" || object != p.object("out") {
				t.Errorf("another output, or (-want +got):\n%s", d)
			}
			p.wantFound(test.found)
		})
	}
}

// TestToolkitsApart: of two toolkits with one nvcc each is served what its own programs made.
func TestToolkitsApart(t *testing.T) {
	t.Parallel()
	_, host := nvcc(t)
	p, one, other := newSource(t), toolkit(t), toolkit(t)
	path := filepath.Join(filepath.Dir(other), "ptxas")
	copied(t, path, path, "x")
	time.Sleep(50 * time.Millisecond)
	for _, tool := range []string{one, other, one, other} {
		if r := p.served(tool, host, "-cubin", "-Ilate", "k.cu", "-o", "out"); r.Status != 0 {
			t.Errorf("%+v", r)
		}
	}
	p.wantCounts(2, 2)
}

// TestStatesOfFiles: what was made of the files as they are is found, though they were others meanwhile.
func TestStatesOfFiles(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	p := newSource(t)
	texts := []string{source["late/c.h"], "#define F(x) (x)\n#define X 1\n", source["late/c.h"], "#define F(x) (x)\n#define X 1\n"}
	for _, text := range texts {
		p.write("late/c.h", text)
		time.Sleep(50 * time.Millisecond)
		if r := p.served(tool, host, "-ptx", "-Ilate", "k.cu", "-o", "out"); r.Status != 0 {
			t.Fatalf("%+v", r)
		}
	}
	p.wantCounts(2, 2)
}

// TestNVCCTogether: of many processes one compiles.
func TestNVCCTogether(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	newSource(t).together(tool, host, "-ptx", "-Ilate", "k.cu", "-o")
}
