package main

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
	"slices"
	"strings"
	"time"
)

// Compilers are kept out of one another's way, and out of ours: those of two runtimes
// may be unable to live in one process (libamd_comgr.so.2 and the libclang-cpp of PoCL
// end it, as both bring the same options of LLVM), and some drivers write to standard
// output. What needs several runtimes asks a process of its own for each; it answers in a
// file.

// selfCall runs this very command in a process of its own.
type selfCall struct {
	args   []string
	report string // the file that it is to answer in, with --report
	env    []string
	lines  io.Writer // is given its standard error as well; may be nil
}

// run runs it and reads its answer. Mistakes on the command line are its own.
func (c selfCall) run(ctx context.Context, answer any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, c.args...)
	cmd.Args[0] = "kernstash" // tests are this command by that name alone, else all tests again
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = c.env
	var log bytes.Buffer
	cmd.Stderr = &limited{&log, 64 << 10}
	if c.lines != nil {
		cmd.Stderr = io.MultiWriter(cmd.Stderr, c.lines)
	}
	if err := cmd.Run(); err != nil {
		return childError(err, log.String())
	}
	b, err := os.ReadFile(c.report)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return fmt.Errorf("process answered what cannot be read: %w", err)
	}
	return nil
}

// askSelf is run with a file that it makes and removes, and our environment with more.
func askSelf(ctx context.Context, args []string, lines io.Writer, answer any, env ...string) error {
	dir, err := os.MkdirTemp("", "kernstash-part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	args = append([]string{args[0], "--report=" + report}, args[1:]...)
	return selfCall{args: args, report: report, env: append(os.Environ(), env...), lines: lines}.run(ctx, answer)
}

// answerTo writes what a process of our own answers.
func answerTo(report string, answer any) error {
	b, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return os.WriteFile(report, b, 0o600)
}

// childError makes of what a process said before it failed what we say.
func childError(err error, log string) error {
	text := strings.TrimPrefix(strings.TrimSpace(log), "kernstash: ")
	usage, _, isUsage := strings.Cut(text, "\nrun '") // a crash may have that status, too
	first, _, _ := strings.Cut(text, "\n")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitUsage && isUsage:
		return &usageError{errors.New(usage)}
	case text == "":
		return fmt.Errorf("process: %w", err)
	case exit != nil && exit.ExitCode() == exitFound:
		return errors.New(text) // it says what is the matter
	}
	return fmt.Errorf("process: %w: %s", err, first)
}

// limited passes at most left bytes on and swallows the rest.
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

// driverCaches are the variables that say where drivers keep what they have
// compiled.
var driverCaches = []string{"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "MESA_SHADER_CACHE_DIR"}

// childEnviron returns the environment of a process: ours without settings of
// the cache, traces apart, and with the driver's caches in dir.
func childEnviron(env []string, dir string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(driverCaches, name) || name == "POCL_KERNEL_CACHE" ||
			strings.HasPrefix(name, "KERNSTASH_") && !strings.HasPrefix(name, "KERNSTASH_TRACE")
	})
	for _, name := range driverCaches {
		env = append(env, name+"="+dir)
	}
	return env
}
