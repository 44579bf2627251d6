package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSourceOnATerminal: the source goes as it is into a pipe, and without
// control characters to a terminal.
func TestSourceOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	args := []string{"show", "--dir", dir, "--source", fillHostile(t, dir).String()}

	var piped strings.Builder
	if status := run(args, strings.NewReader(""), &piped, os.Stderr); status != exitOK || piped.String() != hostileText+"1" {
		t.Errorf("piped: status %d, %q", status, piped.String())
	}

	ours, theirs := terminalPair(t)
	if status := run(args, strings.NewReader(""), theirs, os.Stderr); status != exitOK {
		t.Errorf("status %d", status)
	}
	theirs.Close()
	b, _ := io.ReadAll(ours) // EIO at its end
	if got := string(b); !strings.Contains(got, "forged") || strings.ContainsAny(got, "\x1b\x07\x7f\u009b\u202e") {
		t.Errorf("a terminal is given %q", got)
	}
}

// terminalPair returns both ends of a pseudo-terminal.
func terminalPair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("NOT RUN: no terminals here:", err)
	}
	t.Cleanup(func() { ours.Close() })
	_ = ours.SetReadDeadline(time.Now().Add(20 * time.Second))
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// TestInterruptedQuestion: an interrupt ends a question that nobody answers.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	_, theirs := terminalPair(t)
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app{in: theirs, err: io.Discard}
	asked := make(chan error, 1)
	go func() {
		_, err := a.ask(ctx, "remove everything?")
		asked <- interruption(ctx, err)
	}()
	select {
	case err := <-asked:
		if err == nil || err.Error() != "interrupted" {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still asking")
	}
}
