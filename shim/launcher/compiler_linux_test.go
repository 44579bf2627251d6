package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestCalledAsACompiler: called by a compiler's name, through a link, the command is what runs that.
func TestCalledAsACompiler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "ptxas")
	if err := os.Symlink(filepath.Join(tree, "bin", "kernstash"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/bin/echo", filepath.Join(dir, "real", "ptxas"))
	path := dir + ":" + filepath.Join(dir, "real") + ":/usr/bin:/bin"
	for _, called := range []string{"ptxas", link} {
		cmd := exec.Command("/bin/sh", "-c", called+" run --version")
		cmd.Env = []string{"PATH=" + path, "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); string(out) != "run --version\n" || err != nil {
			t.Errorf("%s: %q, %v", called, out, err)
		}
	}
}

// TestCompilerIsTheCommand: a compiler that is the command of a run is run with the cache, whichever of our programs runs
// the command; what only has its name, a script, is not.
func TestCompilerIsTheCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ptx := filepath.Join(dir, "k.ptx")
	compiler := filepath.Join(dir, "bin", "ptxas")
	err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.Mkdir(filepath.Join(dir, "scripts"), 0o700),
		os.WriteFile(ptx, []byte(".version 7.0\n.target sm_80\n.address_size 64\n"), 0o600),
		needs.WriteProgram(filepath.Join(dir, "scripts", "ptxas"), []byte("#!/bin/sh\necho x >k.cubin\n"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	cc := exec.Command("cc", "-x", "c", "-", "-o", compiler)
	cc.Stdin = strings.NewReader(`#include <stdio.h>
int main() { FILE *f = fopen("k.cubin", "w"); fputs("code", f); f = fopen("runs", "a"); fputs("x", f); return 0; }`)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, tt := range map[string]struct {
		program, path string
		command       string
		runs          string   // how often the compiler ran of two times
		flags         []string // before the command
	}{
		"the launcher":             {kernstash(), "bin", "ptxas", "x", nil},
		"by a path":                {kernstash(), "bin", compiler, "x", nil},
		"in the launcher's place":  {kernstash(), "bin", "ptxas", "x", []string{"--quiet"}},
		"flags":                    {kernstash(), "bin", "ptxas", "x", []string{"--set", "max-size=1G"}},
		"the whole command":        {whole(), "bin", "ptxas", "x", nil},
		"the whole one's place":    {whole(), "bin", "ptxas", "x", []string{"--quiet"}},
		"no compilers":             {kernstash(), "bin", "ptxas", "xx", []string{"--no-compilers"}},
		"the whole, no compilers":  {whole(), "bin", "ptxas", "xx", []string{"--no-compilers"}},
		"a script":                 {kernstash(), "scripts", "ptxas", "", nil},
		"a script, the whole":      {whole(), "scripts", "ptxas", "", nil},
		"a directory below":        {kernstash(), "../bin", "ptxas", "xx", nil},
		"a directory below, whole": {whole(), "../bin", "ptxas", "xx", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			if err := os.Symlink(filepath.Join(dir, "bin"), filepath.Join(filepath.Dir(work), "bin")); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
			path := tt.path
			if !strings.HasPrefix(path, "..") {
				path = filepath.Join(dir, path)
			}
			for i := range 2 {
				_ = os.Remove(filepath.Join(work, "k.cubin"))
				args := slices.Concat([]string{"run"}, tt.flags, []string{"--", tt.command, "-arch=sm_80", ptx, "-o", "k.cubin"})
				cmd := exec.Command(tt.program, args...)
				cmd.Dir, cmd.Env = work, []string{"PATH=" + path + ":/usr/bin:/bin", "HOME=" + work, "KERNSTASH_DIR=" + filepath.Join(work, "root")}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if _, err := os.Stat(filepath.Join(work, "k.cubin")); err != nil {
					t.Errorf("run %d: %v\n%s", i, err, out)
				}
			}
			if runs, _ := os.ReadFile(filepath.Join(work, "runs")); string(runs) != tt.runs {
				t.Errorf("the compiler ran %d times, want %d", len(runs), len(tt.runs))
			}
		})
	}
}

// TestCommandOfCompilers: what compilers are started through leaves all else to the whole command beside it, and where it is
// missing the whole command takes its place.
func TestCommandOfCompilers(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "tree")
	if err := os.CopyFS(copied, os.DirFS(tree)); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(copied, "lib", "kernstash")
	launcher, full, compile := filepath.Join(copied, "bin", "kernstash"), filepath.Join(lib, "kernstash-full"), filepath.Join(lib, "kernstash-compile")
	says := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return fmt.Sprint(string(out), cmd.ProcessState.ExitCode())
	}
	version := says(full, "version")
	variable := func(starter, command string) {
		t.Helper()
		if got := says(starter, "run", "-q", "--", "printenv", "KERNSTASH_COMMAND"); got != command+"\n0" {
			t.Errorf("%s: KERNSTASH_COMMAND is %q, want %s", starter, got, command)
		}
	}
	variable(launcher, compile)
	variable(full, compile)
	for _, c := range []struct {
		want string
		args []string
	}{
		{version, []string{compile, "version"}},
		{"hi --\n0", []string{compile, "compile", "--", "echo", "hi", "--"}},
		{"hi\n0", []string{compile, "compile", "echo", "hi"}}, // the whole command reads the flags
		{"hi\n0", []string{launcher, "compile", "--", "echo", "hi"}},
		{"7", []string{compile, "compile", "--", "sh", "-c", "exit 7"}},
		{"kernstash: unknown command \"nothing\" for \"kernstash\"\nrun 'kernstash --help' for what there is\n2", []string{compile, "nothing"}},
	} {
		if got := says(c.args...); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
	if err := os.Rename(full, full+".gone"); err != nil {
		t.Fatal(err)
	}
	if got := says(compile, "version"); got != "kernstash: the whole command does not start: "+full+": no such file or directory\n1" {
		t.Errorf("without the whole command: %q", got)
	}
	if err := errors.Join(os.Rename(full+".gone", full), os.Remove(compile)); err != nil {
		t.Fatal(err)
	}
	variable(launcher, full)
	variable(full, full)
	if got := says(launcher, "compile", "--", "echo", "hi"); got != "hi\n0" {
		t.Errorf("without it: %q", got)
	}
}
