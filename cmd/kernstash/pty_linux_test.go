package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/internal/pty"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

// TestSourceOnATerminal: the source goes as it is into a pipe, and without
// control characters to a terminal.
func TestSourceOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	args := []string{"show", "--dir", dir, "--source", fillHostile(t, dir).String()}

	var piped strings.Builder
	if status := run(args, strings.NewReader(""), &piped, os.Stderr); status != cli.ExitOK || piped.String() != hostileText+"1" {
		t.Errorf("piped: status %d, %q", status, piped.String())
	}

	if got := onTerminal(t, args); !strings.Contains(got, "forged") || strings.ContainsAny(got, "\x1b\x07\x7f\u009b\u202e") {
		t.Errorf("a terminal is given %q", got)
	}
}

// TestListOnATerminal: lines of ls and du are cut at the width of a terminal, and nowhere else.
func TestListOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	e, err := testEntry(0)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("kernel", 20)
	e.Artifact.Kernels[0].Name = long
	d := disk.New(disk.Options{Dir: dir})
	if _, err := d.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, cut string }{
		{"ls", long[:27] + "…"}, // of 80 columns 52 are taken, and one is for …
		{"ls --long", ""},
		{"ls --tree", long[:39] + "…"}, // 40 are taken
		{"clear --dry-run", long[:27] + "…"},
	} {
		args := append(strings.Fields(test.args), "--dir", dir)
		var piped strings.Builder
		if status := run(args, strings.NewReader(""), &piped, os.Stderr); status != cli.ExitOK || !strings.Contains(piped.String(), long+"\n") {
			t.Errorf("%s piped: status %d, %q", test.args, status, piped.String())
		}
		ours, theirs := terminalPair(t)
		if status := run(args, strings.NewReader(""), theirs, os.Stderr); status != cli.ExitOK {
			t.Errorf("%s: status %d", test.args, status)
		}
		theirs.Close()
		b, _ := io.ReadAll(ours) // EIO at its end
		got := string(b)
		if !strings.Contains(got, test.cut) || strings.Contains(got, long) != (test.cut == "") {
			t.Errorf("%s on a terminal: %q", test.args, got)
		}
	}
}

// TestShowOnATerminal: what is said of a device and its compiler is wrapped at the width of a terminal, and nowhere else.
func TestShowOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	e, err := testEntry(0)
	if err != nil {
		t.Fatal(err)
	}
	flags := "flags = " + strings.Repeat("avx512 ", 30) + "last"
	name, value, _ := strings.Cut(flags, " = ")
	e.Recipe.Device.Traits = []key.Pair{{Name: name, Value: value}}
	e.Key = e.Recipe.Key()
	d := disk.New(disk.Options{Dir: dir})
	if _, err := d.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"show", "--dir", dir, e.Key.String()}
	var piped strings.Builder
	if status := run(args, strings.NewReader(""), &piped, os.Stderr); status != cli.ExitOK || !strings.Contains(piped.String(), flags+"\n") {
		t.Errorf("piped: status %d, %q", status, piped.String())
	}
	got := strings.ReplaceAll(onTerminal(t, args), "\r\n", "\n")
	for line := range strings.Lines(got) {
		if strings.Contains(line, "avx512") && len(line) > 81 {
			t.Errorf("too wide: %q", line)
		}
	}
	if want, lines := "avx512 last\ncompiler   libtest\n", strings.ReplaceAll(got, "\n           ", " "); !strings.Contains(lines, want) || !strings.Contains(lines, flags) {
		t.Errorf("on a terminal:\n%s", got)
	}
}

// onTerminal returns what a command that ends well writes to a terminal.
func onTerminal(t *testing.T, args []string) string {
	t.Helper()
	ours, theirs := terminalPair(t)
	if status := run(args, strings.NewReader(""), theirs, os.Stderr); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
	theirs.Close()
	b, _ := io.ReadAll(ours) // EIO at its end
	return string(b)
}

// terminalPair returns both ends of a pseudo-terminal: a person's, and a program's.
func terminalPair(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, program, err := pty.Open()
	if err != nil {
		t.Skip("NOT RUN: no terminals here:", err)
	}
	t.Cleanup(func() { person.Close() })
	return person, program
}

// TestInterruptedQuestion: an interrupt ends a question that nobody answers.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	_, theirs := terminalPair(t)
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &cli.App{In: theirs, Err: io.Discard}
	asked := make(chan error, 1)
	go func() {
		_, err := entries.Ask(ctx, a, "remove everything?")
		asked <- cli.Interruption(ctx, err)
	}()
	select {
	case err := <-asked:
		if err == nil || err.Error() != "interrupted" {
			t.Errorf("got %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Error("still asking")
	}
}
