package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

// In a child everything is a miss at once, whatever forked it, and get-or-build
// builds; the parent is as it was.
func TestHostForks(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("forks") })
}

// A set-user-id program gets no cache: what is in it may be another user's.
func TestHostWithRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: only root can make a program that others run as root")
	}
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	dir, err := os.MkdirTemp("", "kernstash-setuid-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	b, err := os.ReadFile(h.program)
	if err == nil {
		err = needs.WriteProgram(program, b, 0o700)
	}
	for _, f := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return os.Chmod(program, 0o755|os.ModeSetuid) },
	} {
		if err == nil {
			err = f()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "secure")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A driver that crashes in a build ends the process as without us: by the same
// signal, and without a word of Go's.
func TestHostCrashes(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	out, err := h.command("crash").CombinedOutput()
	if signalOf(err) != syscall.SIGSEGV || strings.Contains(string(out), "goroutine") {
		t.Errorf("%v, want SIGSEGV: %q", err, out)
	}
}

// One that writes to a pipe which nobody reads likewise.
func TestHostPipes(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	if out, err := h.command("pipes").CombinedOutput(); signalOf(err) != syscall.SIGPIPE {
		t.Errorf("%v, want SIGPIPE: %q", err, out)
	}
}

// A process whose main thread ends by pthread_exit ends with its last thread, although Go's
// never end.
func TestHostMainEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	cmd := h.command("main_ends")
	stuck := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "last\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// What the library writes for people ends nobody: neither at the limit of a file's length,
// nor where nobody reads standard error.
func TestHostWrites(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	report := filepath.Join(h.dir, "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("writes", "KERNSTASH_REPORT="+report, "KERNSTASH_TRACE=all")
}

// The host's handlers, without a stack of their own, never run on a stack of Go
// code; what it blocks stays as it was.
func TestHostSignals(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	t.Log(h.run("signals"))
}

// The host catches faults of its own, by a handler set before the library was
// loaded or after.
func TestHostHandlers(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	h.run("handlers")
	h.run("handlers", "TEST_EARLY=1")
}

func TestHostSmallStacks(t *testing.T) {
	t.Parallel()
	newHost(t, cbuild.Library(t).Compile(t, parts)).run("small_stacks")
}

// The main thread's stack is nearly used up when the library is called first.
func TestHostLowStack(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	for _, left := range []string{"8", "16", "60", "70", "130"} {
		h.run("low_stack", "TEST_LEFT="+left)
	}
}

func TestHostOwnStacks(t *testing.T) {
	t.Parallel()
	newHost(t, cbuild.Library(t).Compile(t, parts)).run("own_stacks")
}
