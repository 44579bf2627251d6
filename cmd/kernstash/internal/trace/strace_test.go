//go:build linux && (amd64 || arm64)

package trace_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/trace"
	"github.com/kernstash/kernstash/internal/needs"
)

// temporary matches the part of a name that is another each time, in nvcc's names and those of mkstemp.
var temporary = regexp.MustCompile(`tmpxft_[0-9a-f]{8}_[0-9a-f]{8}|/cc[A-Za-z0-9]{6}\b|-[0-9a-f]+\.\.|_[0-9a-f]+_std`)

func normal(path string) string { return temporary.ReplaceAllString(path, "*") }

var (
	straceLine = regexp.MustCompile(`^\d+ +([a-z0-9_]+)\((.*)`)
	// An argument that names a file: a descriptor with its path, if there is one, and a text.
	straceName = regexp.MustCompile(`^(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?("(?:[^"\\]|\\.)*")`)
)

// straced runs a command under strace, and returns the paths that its processes name.
func straced(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	output := filepath.Join(t.TempDir(), "strace")
	args := append([]string{"-f", "-y", "-s", "8192", "-e", "signal=none", "-e", "trace=%file", "-o", output}, cmd.Args...)
	under := command(t, cmd.Dir, needs.Tool(t, "strace", "strace"), args...)
	under.Env = cmd.Env
	if out, err := under.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", under, err, out)
	}
	b, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	paths := make(map[string]bool)
	for line := range strings.Lines(string(b)) {
		m := straceLine.FindStringSubmatch(line)
		if m == nil {
			continue // it exits, or goes on with a line before
		}
		for _, path := range namesOf(t, m[1], m[2], cmd.Dir) {
			paths[normal(path)] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// namesOf returns the paths in a system call's arguments.
func namesOf(t *testing.T, call, args, dir string) (paths []string) {
	t.Helper()
	most := 1
	switch {
	case call == "symlink" || call == "symlinkat":
		args = args[len(straceName.FindString(args))+2:] // the target is a text
	case strings.HasPrefix(call, "rename") || strings.HasPrefix(call, "link"):
		most = 2
	}
	for range most {
		m := straceName.FindStringSubmatch(args)
		if m == nil {
			break
		}
		args = strings.TrimPrefix(args[len(m[0]):], ", ")
		path, err := strconv.Unquote(m[2])
		if err != nil {
			t.Fatalf("%s(%s: %v", call, args, err)
		}
		switch {
		case path == "": // the descriptor is meant
			continue
		case strings.HasPrefix(path, "/"):
		case m[1] != "":
			path = m[1] + "/" + path
		default:
			path = dir + "/" + path
		}
		if !strings.Contains(path+"/", "/../") {
			path = filepath.Clean(path)
		} else { // the same, but for ".."
			path = strings.ReplaceAll(filepath.Clean(strings.ReplaceAll(path, "..", "dot dot")), "dot dot", "..")
		}
		paths = append(paths, path)
	}
	return paths
}

// cuda returns the directory of NVIDIA's compilers.
func cuda(t *testing.T) string {
	t.Helper()
	if architecture != "amd64" {
		t.Skip("NOT RUN: the compilers in bin/cuda are those of x86-64")
	}
	dir, err := filepath.EvalSymlinks(needs.CUDA(t))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const cudaSource = `
#include <cuda_fp16.h>
#include "own.h"
__global__ void k(float *x) { x[0] = __half2float(__float2half(x[1])) + OWN; }
int main() { k<<<1, 1>>>(nullptr); }
`

// What is recorded of a command is what strace sees of it, no more and no less.
func TestAsStrace(t *testing.T) {
	t.Parallel()
	gxx := func(t *testing.T) string { return needs.Tool(t, "g++-12", "g++-12") }
	for name, args := range map[string]func(t *testing.T) []string{
		"a pipeline": func(*testing.T) []string {
			return []string{"/bin/sh", "-c", "cat own.h | tr a-z A-Z | sort >sorted; mkdir d d/e; cd d; ln -s ../own.h e/link; cat e/link ./e/../../own.h absent; mv e f; rm -r f; cd ..; rmdir d; [ -e none/x ] || ls . >/dev/null; rm sorted"}
		},
		"nested shells": func(*testing.T) []string {
			return []string{"/bin/sh", "-c", "for i in 1 2 3; do (cd /usr; sh -c 'test -r lib/absent' & wait); done; x=$(env sh -c 'command -v gcc'); echo $x | xargs ls >/dev/null"}
		},
		"g++": func(t *testing.T) []string {
			return []string{gxx(t), "-O1", "-I", "sub/../sub", "-I", "absent", "-c", "a.cc", "-o", "a.o"}
		},
		"g++ with debug information": func(t *testing.T) []string { return []string{gxx(t), "-g", "-pipe", "-MD", "-c", "a.cc"} },
		"g++ that links":             func(t *testing.T) []string { return []string{gxx(t), "a.cc", "-o", "a"} },
		"nvcc":                       func(t *testing.T) []string { return nvcc(t, "-c", "k.cu", "-o", "k.o") },
		"nvcc -cubin":                func(t *testing.T) []string { return nvcc(t, "-cubin", "k.cu", "-o", "k.cubin") },
		"nvcc of two threads": func(t *testing.T) []string {
			return nvcc(t, "-t", "2", "-gencode", "arch=compute_80,code=sm_80", "-c", "k.cu")
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "own.h"), "#define OWN 1\n")
			write(t, filepath.Join(dir, "k.cu"), cudaSource)
			write(t, filepath.Join(dir, "sub/more.h"), "#include \"../own.h\"\n")
			write(t, filepath.Join(dir, "a.cc"), "#include <vector>\n#include <string>\n#include \"sub/more.h\"\nint main() { return std::vector<int>(OWN).size() - 1; }\n")
			for _, output := range []string{"a", "a.o", "a.d", "k.o", "k.cubin"} { // there are some in both runs
				write(t, filepath.Join(dir, output), "")
			}
			words := args(t)
			want := straced(t, command(t, dir, words[0], words[1:]...))
			var got []string
			for range 5 {
				r := traced(t, command(t, dir, words[0], words[1:]...))
				got = got[:0]
				for _, f := range r.Files {
					got = append(got, normal(f.Path))
				}
				slices.Sort(got)
				got = slices.Compact(got)
				// A shell that goes on while its children run may be interrupted by their end.
				// Then the record says that it is unclear, and may lack what was interrupted.
				interrupted := words[0] == "/bin/sh" && strings.Contains(r.Unclear, "SIGCHLD")
				if r.Unclear != "" && !interrupted {
					t.Fatalf("unclear: %s", r.Unclear)
				}
				if !interrupted || slices.Equal(want, got) {
					break
				}
				for _, file := range got {
					if !slices.Contains(want, file) {
						t.Errorf("the record has %s, strace does not", file)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 {
				t.Errorf("%d files; strace (-), record (+):\n%s", len(want), diff)
			}
			t.Logf("%d files", len(got))
		})
	}
}

func nvcc(t *testing.T, args ...string) []string {
	t.Helper()
	return append([]string{filepath.Join(cuda(t), "bin/nvcc"), "-ccbin", needs.Tool(t, "g++-12", "g++-12"), "-arch=sm_90"}, args...)
}

// Which program did what is recorded, too.
func TestProgramsOfARecord(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	write(t, filepath.Join(dir, "own.h"), "#define OWN 1\n")
	write(t, filepath.Join(dir, "k.cu"), cudaSource)
	words := nvcc(t, "-cubin", "k.cu", "-o", "k.cubin")
	got := make(map[string]string)
	for _, f := range traced(t, command(t, dir, words[0], words[1:]...)).Files {
		by := make(map[string]trace.Use)
		for program, uses := range f.By {
			by[filepath.Base(program)] |= uses
		}
		got[filepath.Base(f.Path)] = fmt.Sprint(uint(f.Uses), by)
	}
	for name, want := range map[string]string{
		"k.cu":         fmt.Sprint(uint(opened), map[string]trace.Use{"cc1plus": opened, "nvcc": looked, "x86_64-linux-gnu-g++-12": looked}),
		"own.h":        fmt.Sprint(uint(opened), map[string]trace.Use{"cc1plus": opened}),
		"nvcc.profile": fmt.Sprint(uint(opened), map[string]trace.Use{"nvcc": opened}),
		"ptxas":        fmt.Sprint(uint(executed), map[string]trace.Use{"dash": executed}),
		"k.cubin":      fmt.Sprint(uint(looked|written), map[string]trace.Use{"ptxas": looked | written}),
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}
