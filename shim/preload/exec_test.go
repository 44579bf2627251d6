//go:build linux

package preload_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

// starting is a stage with a command, which says what it is called with, and compilers.
type starting struct {
	*stage
	real, path, through string // a compiler; PATH with its directory, and the command, as variables
}

func newStarting(t *testing.T) *starting {
	t.Helper()
	s := &starting{stage: newStage(t)}
	s.script("bin/kernstash", `echo command "$1 $2 $3 $4" | cut -c1-`+fmt.Sprint(len(s.work)+100))
	for name, what := range map[string]string{
		"bin/ptxas": "real", "bin/ptxas2": "other", "ptxas": "here", "there/ptxas": "there", "there/only/ptxas": "only there",
	} {
		b, err := os.ReadFile(s.alone("says", fmt.Sprintf("-DWHAT=%q", what)))
		if err != nil {
			t.Fatal(err)
		}
		s.write(name, string(b))
		if err := os.Chmod(filepath.Join(s.work, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.real = filepath.Join(s.work, "bin", "ptxas")
	s.path = "PATH=/nonexistent:" + filepath.Dir(s.real) + ":" + os.Getenv("PATH")
	s.through = "KERNSTASH_COMMAND=" + filepath.Join(s.work, "bin", "kernstash")
	return s
}

// alone compiles one of testdata, which ends when it is done.
func (s *starting) alone(name string, flags ...string) string {
	s.t.Helper()
	return s.lib.CompileAlone(s.t, []string{filepath.Join("testdata", name+".c")}, append([]string{"-D_GNU_SOURCE", "-pthread"}, flags...)...)
}

// script writes a program of the shell that ends with 7.
func (s *starting) script(name, text string) (path string) {
	s.t.Helper()
	s.write(name, "#!/bin/sh\n"+text+"\nexit 7\n")
	path = filepath.Join(s.work, name)
	if err := os.Chmod(path, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// Compilers are started through the command that KERNSTASH_COMMAND names, in whatever way a
// program starts them; other programs are not, nor those that the command could not find in the same place.
func TestCompilersAreStartedThroughTheCommand(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	starts := s.alone("starts")
	script := s.script("script/ptxas", `echo script "$@"`)
	s.write("bare/ptxas", "echo bare \"$@\"\nexit 7\n") // no format that the kernel knows: execvp(3) has a shell run it
	s.write("directory/ptxas/file", "")
	bare := filepath.Join(s.work, "bare", "ptxas")
	if err := os.Chmod(bare, 0o700); err != nil {
		t.Fatal(err)
	}
	served := "command compile -- " + s.real + " -a\n"
	type row struct {
		way, program string
		env          []string
		out          string
		status       int
	}
	var rows []row
	both := []string{s.path, s.through}
	for _, way := range []string{"execve", "execv", "execl", "execle", "vfork", "posix_spawn", "system", "popen", "short name", "cancelled"} {
		rows = append(rows, row{way, s.real, both, served, 7})
	}
	for _, way := range []string{"execvp", "execvpe", "execlp", "posix_spawnp", "system", "popen"} {
		rows = append(rows, row{way, "ptxas", both, served, 7})
	}
	past := []string{"PATH=" + filepath.Join(s.work, "directory") + ":" + filepath.Dir(s.real) + ":" + os.Getenv("PATH"), s.through}
	rows = append(
		rows,
		row{"execvp", s.real, both, served, 7},
		row{"posix_spawn", "bin//ptxas", both, "command compile -- bin//ptxas -a\n", 7},
		row{"short name", strings.Replace(s.real, "/bin/", "//bin//", 1), both, served, 7},

		row{"execve", "ptxas", both, "here -a -b\n", 7}, // by its first argument it is the one in PATH
		row{"execve", s.real, []string{s.path}, "real -a -b\n", 7},
		row{"renamed", s.real, both, "real -a -b\n", 7}, // its messages begin with the name
		row{"elsewhere", s.real, both, "real -a -b\n", 7},
		row{"another PATH", "ptxas", both, "real -a -b\n", 7},
		row{"no environment", s.real, both, "real -a -b\n", 7},
		row{"execve", s.real, []string{s.path, "KERNSTASH_COMMAND=kernstash"}, "real -a -b\n", 7},
		row{"execve", s.real, []string{s.path, "KERNSTASH_COMMAND="}, "real -a -b\n", 7},
		row{"posix_spawn", s.real, []string{s.path, "KERNSTASH_COMMAND=/nonexistent"}, "real -a -b\n", 7},
		row{"execve", filepath.Join(s.work, "bin", "ptxas2"), both, "other -a -b\n", 7},
		row{"posix_spawnp", "ptxas2", both, "other -a -b\n", 7},
		row{"clone", filepath.Join(s.work, "bin", "ptxas2"), both, "other -a -b\n", 7},
		row{"execve", "/nonexistent/ptxas", both, "", 100 + int(syscall.ENOENT)},
		row{"execvp", "ptxas", []string{"PATH=/nonexistent", s.through}, "", 100 + int(syscall.ENOENT)},

		// By calls of the kernel, which nothing stands before.
		row{"fexecve", s.real, both, "real -a -b\n", 7},
		row{"execveat", s.real, both, "real -a -b\n", 7},

		// What is no program of its own.
		row{"execve", script, both, "script -a -b\n", 7},
		row{"posix_spawn", script, both, "script -a -b\n", 7},
		row{"execve", bare, both, "", 100 + int(syscall.ENOEXEC)},
		row{"execvp", bare, both, "bare -a -b\n", 7},
		row{"execve", filepath.Join(s.work, "directory", "ptxas"), both, "", 100 + int(syscall.EACCES)},
		row{"execvp", "ptxas", past, "real -a -b\n", 7}, // the real function goes on behind a directory

		// In a directory that the child goes to.
		row{"elsewhere, by posix_spawn", "./ptxas", both, "there -a -b\n", 7},
		row{"elsewhere, by posix_spawn", "only/ptxas", both, "only there -a -b\n", 7},
		row{"elsewhere, by posix_spawn", s.real, both, served, 7},
	)
	for _, r := range rows {
		o := s.mustRun(true, r.env, starts, r.way, r.program, "-a", "-b")
		if d := cmp.Diff(fmt.Sprintf("%serror 0, status %d\n", r.out, r.status), o.out); d != "" {
			t.Errorf("%s %s %q (-want +got):\n%s", r.way, r.program, r.env, d)
		}
		if without := s.mustRun(false, r.env, starts, r.way, r.program, "-a", "-b"); !strings.HasSuffix(o.out, without.out[strings.LastIndex(without.out, "error"):]) {
			t.Errorf("%s %s: %q, without the library %q", r.way, r.program, o.out, without.out)
		}
	}
}

// A command line is as long as it may be without us: where there is no room for ours, or it has more
// words than a small stack may hold again, the compiler is started as ever.
func TestLongCommandLines(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	starts, env := s.alone("starts"), []string{s.path, s.through}
	if o := s.mustRun(true, env, starts, "longest", s.real, "-a", "-b"); o.out != "1 1 1\nerror 0, status 0\n" {
		t.Errorf("longest: %q", o.out)
	}
	for words, want := range map[string]string{"4096": "command compile -- " + s.real + " x\n", "4097": "real x x", "100000": "real x x"} {
		o := s.mustRun(true, env, starts, "many", s.real, words, "-b")
		if !strings.HasPrefix(o.out, want) || !strings.HasSuffix(o.out, "error 0, status 7\n") {
			t.Errorf("%s words: %q", words, o.out[:min(len(o.out), 200)])
		}
	}
}

// Where the command might find too little memory, the compiler is started as ever.
func TestLittleMemory(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	starts := s.alone("starts")
	through := "command compile -- " + s.real + " -a"
	for limit, want := range map[string]string{
		"-v 4194304": through, "-v 4194303": "real -a -b", "-d 524288": through, "-d 524287": "real -a -b",
	} {
		o := s.mustRun(true, []string{s.path, s.through}, "/bin/sh", "-c", "ulimit "+limit+`; exec "$@"`, "sh", starts, "execve", s.real, "-a", "-b")
		if want += "\nerror 0, status 7\n"; o.out != want {
			t.Errorf("%s: %q, want %q", limit, o.out, want)
		}
	}
}

// Python tries what PATH has in turn, in a child of vfork or of fork.
func TestCompilersStartedByPython(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	const program = `
import os, subprocess, sys
for args, more in (
    (["ptxas", "-a"], {}), ([sys.argv[1], "-a"], {}), (["ptxas", "-a"], {"preexec_fn": lambda: None}),
    (["ptxas", "-a"], {"cwd": "/"}), (["ptxas", "-a"], {"env": {"PATH": os.environ["PATH"]}}), ("ptxas -a", {"shell": True}),
    (["ptxas", "-a"], {"executable": sys.argv[2]}), (["none-of-them"], {}), (["ptxas"], {"cwd": "/nonexistent"}),
):
    try:
        r = subprocess.run(args, stdout=subprocess.PIPE, text=True, **more)
        print(r.returncode, r.stdout, end="")
    except OSError as e:
        print(type(e).__name__)
`
	o := s.mustRun(true, []string{s.path, s.through}, python(t), "-c", program, s.real, filepath.Join(s.work, "there", "ptxas"))
	served := "7 command compile -- " + s.real + " -a\n"
	want := strings.Repeat(served, 4) + "7 real -a\n" + served + "7 there -a\n" + strings.Repeat("FileNotFoundError\n", 2)
	if d := cmp.Diff(want, o.out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// python returns an interpreter itself, and no script that looks for one.
func python(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(needs.Tool(t, "python3", "python3"), "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The start of a compiler, watched: nothing is read or written that is not ours.
func TestStartsAreClean(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	env := []string{s.path, s.through, "LD_PRELOAD=" + s.preload}
	valgrind, starts := needs.Tool(t, "valgrind", "valgrind"), s.alone("starts")
	for _, way := range []string{"execve", "execl", "vfork", "posix_spawnp", "many"} {
		program, a := s.real, "-a"
		switch way {
		case "posix_spawnp":
			program = "ptxas"
		case "many":
			a = "4096"
		}
		o := s.mustRun(false, env, valgrind, "-q", "--error-exitcode=99", "--child-silent-after-fork=no", starts, way, program, a, "-b")
		if !strings.HasPrefix(o.out, "command compile -- ") || o.err != "" {
			t.Errorf("%s: %q\n%s", way, o.out, tail(o.err))
		}
	}
	asan, err := exec.Command(cbuild.CC(), "-print-file-name=libasan.so").Output()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := cbuild.Shim("preload", "libkernstash_preload.so", out); err != nil {
		t.Fatal(err)
	}
	env = []string{
		s.path, s.through, "KERNSTASH_LIBRARY=" + s.lib.Library, "ASAN_OPTIONS=detect_leaks=0",
		"LD_PRELOAD=" + strings.TrimSpace(string(asan)) + " " + filepath.Join(out, "asan", "libkernstash_preload.so"),
	}
	for _, way := range []string{"execve", "execl", "execle", "execvp", "posix_spawn", "short name", "elsewhere"} {
		o := s.mustRun(false, env, starts, way, s.real, "-a", "-b")
		if !strings.HasSuffix(o.out, "error 0, status 7\n") || strings.Contains(o.err, "Sanitizer") || strings.Contains(o.err, "runtime error") {
			t.Errorf("%s: %q\n%s", way, o.out, tail(o.err))
		}
	}
}
