package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// What the parts of the command are called that lie behind the launcher: the whole command, and what compilers are started through.
const WholeName, CompileName = "kernstash-full", "kernstash-compile"

// CompilePath is what to start compilers through: the small command beside this one, or this one where there is none.
func CompilePath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this command is: %w", err)
	}
	if small := filepath.Join(filepath.Dir(self), CompileName); filepath.Base(self) == WholeName && executable(small) == nil {
		return small, nil
	}
	return self, nil
}

// CommandPath is what to call to be called again: not the whole command where a
// smaller one stands before it.
func CommandPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this command is: %w", err)
	}
	dir := filepath.Dir(self)
	if base := filepath.Base(self); base == WholeName || base == CompileName {
		for _, front := range []string{filepath.Join(dir, "..", "..", "bin", "kernstash"), filepath.Join(dir, "kernstash")} {
			if _, err := os.Stat(front); err == nil {
				return filepath.Clean(front), nil
			}
		}
	}
	return self, nil
}

// AskPart runs a hidden command of ours in a process of its own, with an environment (nil is
// ours) and the request as its standard input, and reads what it answers in the file of its
// flag --report. lines, if any, is given its standard error as well.
//
// Compilers of two runtimes may be unable to live in one process (libamd_comgr.so.2 and the
// libclang-cpp of PoCL end it, as both bring the same options of LLVM), and some drivers write to
// standard output. So what needs several runtimes asks a process for each.
func AskPart(ctx context.Context, name string, request any, env []string, lines io.Writer, answer any) error {
	in, err := json.Marshal(request)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kernstash-part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	cmd := Interruptibly(ctx, self, name, "--report="+report)
	cmd.Args[0] = "kernstash" // tests are this command by that name alone, else all tests again
	cmd.Env, cmd.Stdin = env, bytes.NewReader(in)
	var log bytes.Buffer
	cmd.Stderr = Limit(&log, 64<<10)
	if lines != nil {
		cmd.Stderr = io.MultiWriter(cmd.Stderr, lines)
	}
	if err := cmd.Run(); err != nil {
		return childError(err, log.String())
	}
	b, err := os.ReadFile(report)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return fmt.Errorf("process answered what cannot be read: %w", err)
	}
	return nil
}

// Interruptibly returns a command that is interrupted when ctx ends, and has some seconds to end.
func Interruptibly(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// childError makes of what a process said before it failed what we say.
func childError(err error, log string) error {
	text := strings.TrimPrefix(strings.TrimSpace(log), "kernstash: ")
	usage, _, isUsage := strings.Cut(text, "\nrun '") // a crash may have that status, too
	first, _, _ := strings.Cut(text, "\n")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == ExitUsage && isUsage:
		return Usage(errors.New(usage))
	case text == "":
		return fmt.Errorf("process: %w", err)
	case exit != nil && exit.ExitCode() == ExitFound:
		return errors.New(text) // it says what is the matter
	}
	return fmt.Errorf("process: %w: %s", err, first)
}

// Limit returns a writer that passes at most n bytes on to w and swallows the rest.
func Limit(w io.Writer, n int) io.Writer { return &limited{w, n} }

type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
