//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecondInterruptEnds: the first interrupt asks work to end, and says that
// it is waited for; the second one ends the process.
func TestSecondInterruptEnds(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{"wait-interrupted"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, want := range []string{"ready\n", "cancelled\n"} {
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		if want == "ready\n" {
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
	said, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil || !strings.Contains(said, "interrupt again to end at once") {
		t.Errorf("said %q, %v", said, err)
	}
	start := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v after %v", cmd.ProcessState, time.Since(start))
	}
}
