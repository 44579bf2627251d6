//go:build linux && (amd64 || arm64)

package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/trace"
	"github.com/kernstash/kernstash/internal/needs"
)

// TestMain runs a command, traced, in processes of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_TRACE_FORBIDDEN") == "" {
		os.Exit(m.Run())
	}
	forbid(os.Getenv("TEST_TRACE_FORBIDDEN"))
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	r, err := trace.Run(cmd)
	switch {
	case r == nil:
		fmt.Println("no record,", err)
	default:
		fmt.Printf("record, unclear %q, %v\n", r.Unclear, err)
	}
	os.Exit(0)
}

// patience is how long a command of a test may take.
const patience = 5 * time.Minute

// command returns a command that does not hang.
func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, patience
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) { // else the test has ended
			t.Errorf("%v did not end", cmd)
		}
		return cmd.Process.Kill()
	}
	return cmd
}

// needTracing skips a test where the kernel allows none of it.
func needTracing(t *testing.T) {
	t.Helper()
	if r, err := trace.Run(command(t, "", "/bin/true")); r == nil || err != nil {
		t.Skip("NOT RUN: this system does not allow tracing: ", err)
	}
}

// traced runs a command that succeeds, and returns its record.
func traced(t *testing.T, cmd *exec.Cmd) *trace.Record {
	t.Helper()
	needTracing(t)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	r, err := trace.Run(cmd)
	if err != nil || r == nil {
		t.Fatalf("%v: %v, record %v\n%s", cmd, err, r, messages.String())
	}
	return r
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := needs.WriteProgram(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// realDir returns a directory of the test's own whose path has no links.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ended is what a command makes of itself for who runs it.
type ended struct {
	Error, State, Output, Messages string
	Status                         syscall.WaitStatus
}

func endOf(cmd *exec.Cmd, run func(*exec.Cmd) error) (e ended) {
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), &out, &messages
	if err := run(cmd); err != nil {
		e.Error = err.Error()
	}
	e.State, e.Output, e.Messages = cmd.ProcessState.String(), out.String(), messages.String()
	if cmd.ProcessState != nil {
		e.Status = cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
	return e
}

func runTraced(cmd *exec.Cmd) error {
	_, err := trace.Run(cmd)
	return err
}

// A command ends, traced, as without, and is given the same.
func TestEndsAsUntraced(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	write(t, filepath.Join(dir, "script"), "#!/bin/sh\necho script $0 $*\n")
	write(t, filepath.Join(dir, "nonsense"), "\x7fELF nonsense")
	write(t, filepath.Join(dir, "plain"), "text")
	if err := os.Chmod(filepath.Join(dir, "plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := func(text string) []string { return []string{"/bin/sh", "-c", text} }
	for name, args := range map[string][]string{
		"status 0":      sh("exit 0"),
		"status 1":      sh("echo out; echo messages >&2; exit 1"),
		"status 137":    sh("exit 137"),
		"SIGSEGV":       sh("ulimit -c 0; kill -SEGV $$"),
		"SIGTERM":       sh("kill -TERM $$"),
		"SIGKILL":       sh("kill -KILL $$"),
		"SIGTERM below": sh("sh -c 'kill -TERM $$'; echo $?"),
		"pipeline":      sh("cat | tr a-z A-Z | sed s/P/x/; cat absent | wc -l"),
		"trap":          sh("trap 'echo trapped' USR1; kill -USR1 $$; trap '' TERM; kill -TERM $$; echo on"),
		"limits":        {"/bin/cat", "/proc/self/limits"},
		"signals":       {"/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"},
		"descriptors":   sh("ls /proc/self/fd"), // those of ls
		"environment":   {"/usr/bin/env", "-0"},
		"arguments":     {"/bin/cat", "/proc/self/cmdline", "/dev/null"},
		"group":         sh("cut -d ' ' -f 5-8 /proc/self/stat; pwd -P"),
		"a relative":    {"./script", "a b", "", "c"},
		"absent":        {"./absent"},
		"not a program": {"./plain"},
		"nonsense":      {"./nonsense"},
		"a directory":   {dir},
		"not found":     {"no-such-command-anywhere"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			want := endOf(command(t, dir, args[0], args[1:]...), (*exec.Cmd).Run)
			cmd := command(t, dir, args[0], args[1:]...)
			if diff := cmp.Diff(want, endOf(cmd, runTraced)); diff != "" {
				t.Errorf("without (-) and with tracing (+):\n%s", diff)
			}
			if diff := cmp.Diff(append([]string{args[0]}, args[1:]...), cmd.Args); diff != "" || len(cmd.ExtraFiles) != 0 {
				t.Errorf("the command is changed:\n%s", diff)
			}
		})
	}
	t.Run("no_directory", func(t *testing.T) {
		t.Parallel()
		want := endOf(command(t, dir+"/absent", "/bin/true"), (*exec.Cmd).Run)
		if diff := cmp.Diff(want, endOf(command(t, dir+"/absent", "/bin/true"), runTraced)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("descriptors_of_ours", func(t *testing.T) {
		t.Parallel()
		run := func(run func(*exec.Cmd) error) ended {
			f, err := os.Open(filepath.Join(dir, "plain"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd := command(t, dir, "/bin/sh", "-c", "cat <&3; ls -l /proc/self/fd | grep -c plain")
			cmd.ExtraFiles = []*os.File{f}
			return endOf(cmd, run)
		}
		if diff := cmp.Diff(run((*exec.Cmd).Run), run(runTraced)); diff != "" {
			t.Error(diff)
		}
	})
}

// Signals reach the command, and stop and continue it, as ever.
func TestSignalsWhileTraced(t *testing.T) {
	t.Parallel()
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "echo begun; exec sleep 100")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.Stdout = writerFunc(func() { cancel() })
		_, err := trace.Run(cmd)
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || s.Signal() != syscall.SIGTERM {
			t.Errorf("%v, %v", err, cmd.ProcessState)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		cmd := command(t, "", "/bin/sh", "-c", "echo $$; kill -STOP $$; cat /dev/null; echo on")
		var out bytes.Buffer
		cmd.Stdout = &out
		go func() {
			for stat := ""; t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
				if pids, _, ok := strings.Cut(stat, " "); ok && strings.Contains(stat, ") T ") {
					var pid int
					_, _ = fmt.Sscan(pids, &pid)
					_ = syscall.Kill(pid, syscall.SIGCONT)
					return
				}
				stat = statOfChild("kill -STOP $$; cat /dev/null")
			}
		}()
		if _, err := trace.Run(cmd); err != nil || !strings.HasSuffix(out.String(), "\non\n") {
			t.Errorf("%v, %q", err, out.String())
		}
	})
}

type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) { f(); return len(b), nil }

// statOfChild returns /proc/PID/stat of the child of ours that has these words in its command line.
func statOfChild(words string) string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		line, _ := os.ReadFile(name)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "stat"))
		if bytes.Contains(line, []byte(words)) && strings.Contains(string(stat), fmt.Sprintf(" %d ", os.Getpid())) {
			return string(stat)
		}
	}
	return ""
}

// A process that lives on after the command runs on, however its parents end; who reads the record
// is told.
func TestLivesOnTraced(t *testing.T) {
	t.Parallel()
	needTracing(t)
	const text = "(while ! [ -e go ]; do sleep 0.1; done; cat file >made) </dev/null >/dev/null 2>&1 &"
	for name, run := range map[string]func(t *testing.T, dir string) (unclear string){
		"while we live": func(t *testing.T, dir string) string {
			return traced(t, command(t, dir, "/bin/sh", "-c", text)).Unclear
		},
		"when we are gone": func(t *testing.T, dir string) string {
			cmd := command(t, dir, os.Args[0], "/bin/sh", "-c", text)
			cmd.Env = append(os.Environ(), "TEST_TRACE_FORBIDDEN=nothing")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			write(t, filepath.Join(dir, "file"), "text")
			if unclear := run(t, dir); !strings.Contains(unclear, "a process lived on") {
				t.Errorf("unclear: %q", unclear)
			}
			write(t, filepath.Join(dir, "go"), "")
			for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
				if made, _ := os.ReadFile(filepath.Join(dir, "made")); string(made) == "text" {
					break
				}
				if time.Now().After(end) {
					t.Fatal("it did not go on")
				}
			}
		})
	}
}

// Of many processes, of many threads, nothing is lost.
func TestManyTraced(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	program := compiled(t, `
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *start(void *arg) {
			for (int i = 0; i < 125; i++) {
				char name[40];
				snprintf(name, sizeof name, "%ld.%d", (long)arg, i);
				pid_t pid = fork();
				if (!pid) { open(name, O_RDONLY); _exit(0); }
				if (pid < 0 || waitpid(pid, 0, 0) != pid) _exit(1);
			}
			return 0;
		}
		int main(void) {
			pthread_t all[8];
			for (long i = 0; i < 8; i++) if (pthread_create(&all[i], 0, start, (void *)i)) return 1;
			for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
			return 0;
		}`)
	r := traced(t, command(t, dir, program))
	var got, want []string
	for _, f := range r.Files {
		if strings.HasPrefix(f.Path, dir) && f.Uses == trace.Opened|trace.Looked {
			got = append(got, f.Path)
		}
	}
	for i := range 8 {
		for j := range 125 {
			want = append(want, fmt.Sprintf("%s/%d.%d", dir, i, j))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || r.Unclear != "" {
		t.Errorf("unclear: %q\n%s", r.Unclear, diff)
	}
}

// Commands at once are recorded each for itself.
func TestRecordsAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			r := traced(t, command(t, dir, "/bin/sh", "-c", fmt.Sprintf("for i in 1 2 3 4 5; do cat /dev/null ./own.%d; done || true", i)))
			var got []string
			for _, f := range r.Files {
				if strings.Contains(f.Path, "/own.") {
					got = append(got, f.Path)
				}
			}
			if diff := cmp.Diff([]string{fmt.Sprintf("%s/own.%d", dir, i)}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzTidy(f *testing.F) {
	for _, s := range []string{"/", "//", "/.", "/./", "/a//b/./c/.", "/a/", "/a/../b/", "/...", "/.a/b."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = "/" + s
		if got := trace.Tidy(s); !slices.Contains(strings.Split(s, "/"), "..") && got != path.Clean(s) ||
			strings.Count(got, "..") != strings.Count(s, "..") || trace.Tidy(got) != got {
			t.Errorf("%q: %q", s, got)
		}
	})
}
