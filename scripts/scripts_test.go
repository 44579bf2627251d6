//go:build linux

// Package scripts_test runs the scripts that README's two commands go through.
package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestProgress: a command that takes long says what it is at, what it writes otherwise is
// not seen, and its status is that of the script.
func TestProgress(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	f, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// It ends when the line of progress is there.
	cmd := exec.Command("./progress", "compiling", "sh", "-c", `echo first; echo second; until grep -q '^compiling: .* s, second$' "$0"; do sleep 0.05; done`, said)
	cmd.Stdout = f
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(said); err != nil || strings.Contains(string(b), "first") {
		t.Errorf("%v, it says:\n%s", err, b)
	}

	out, err := exec.Command("./progress", "compiling", "true").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("a command that is soon done: %v, %q", err, out)
	}
	cmd = exec.Command("./progress", "compiling", "sh", "-c", "echo out; echo err >&2; exit 3")
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || string(out) != "out\nerr\n" {
		t.Errorf("one that fails: %v, %q", err, out)
	}
}

// TestSteady: it prints TMPDIR, or a folder where programs can run.
func TestSteady(t *testing.T) {
	t.Parallel()
	steady := func(tmpdir string) string {
		cmd := exec.Command("./steady")
		cmd.Env = append(os.Environ(), "TMPDIR="+tmpdir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	if got := steady("/of/the user's"); got != "/of/the user's" {
		t.Errorf("TMPDIR is set: %q", got)
	}
	dir, err := os.MkdirTemp(steady(""), "kernstash-steady-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	if err := needs.WriteProgram(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(program).Run(); err != nil {
		t.Error(err)
	}
}

// TestBareRunsOnlyREADME: scripts/bare runs what README says, nothing else.
func TestBareRunsOnlyREADME(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("./bare", "make", "nothing")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "README's two commands have no line: make nothing") {
		t.Errorf("exit %d, %s", cmd.ProcessState.ExitCode(), out)
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Two commands\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		command = strings.TrimSpace(command)
		if !regexp.MustCompile(`(?m)^step scripts/bare (-s \w+ )?` + regexp.QuoteMeta(command) + `$`).Match(ci) {
			t.Errorf("CI does not run %q on a bare machine", command)
		}
	}
}

// TestFuzz: a run that only its deadline fails is repeated, one that finds something, or fails
// otherwise, is not. go is one that fails so: which run the deadline fails is chance.
func TestFuzz(t *testing.T) {
	t.Parallel()
	const deadline = `echo "--- FAIL: FuzzX (15.10s)"; echo "    context deadline exceeded"; exit 1`
	tests := []struct {
		name, first, second string
		code, runs          int
	}{
		{"passes", "exit 0", "exit 9", 0, 1},
		{"fails at its deadline once", deadline, "exit 0", 0, 2},
		{"fails at its deadline each time", deadline, deadline, 1, 3},
		{"finds something at its deadline", `echo "    Failing input written to testdata/fuzz/FuzzX/0"; ` + deadline, "exit 0", 1, 1},
		{"fails otherwise", "echo panic; exit 2", "exit 0", 1, 1},
	}
	script, err := filepath.Abs("fuzz")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"x_test.go": "func FuzzX(f *testing.F) {\n",
				"go":        "#!/bin/sh\necho >>runs\nif [ $(wc -l <runs) = 1 ]; then " + tt.first + "\nelse " + tt.second + "\nfi\n",
			} {
				if err := needs.WriteProgram(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(script, "15s")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			runs, err := os.ReadFile(filepath.Join(dir, "runs"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(runs), "\n"); cmd.ProcessState.ExitCode() != tt.code || got != tt.runs {
				t.Errorf("exit %d, %d runs; want %d, %d:\n%s", cmd.ProcessState.ExitCode(), got, tt.code, tt.runs, out)
			}
		})
	}
}
