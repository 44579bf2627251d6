//go:build linux

// Package levelzero_shim_test builds the Level Zero shim and programs that use it, and runs
// them as processes on Intel's driver, which compiles without hardware when its debug keys
// say so.
package levelzero_shim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// built is where everything is compiled into, once for all tests.
var built string

const shim = "libkernstash_levelzero.so"

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "kernstash-levelzero"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	if err = compile(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = cbuild.Main(m)
	}
	os.RemoveAll(built)
	os.Exit(code)
}

func compile() error {
	// What is read here is looked at by those who keep results of tests.
	for _, pattern := range []string{
		"Makefile", "../shim.mk", "alone/*.c", "../preload/*.h", "../preload/src/*.[ch]", "src/*.[ch]", "testdata/*.[ch]", "../testdata/*.h", "../library/*.[ch]", "../../capi/kernstash_front.h", "../../gpu/levelzero/testdata/*",
	} {
		names, err := filepath.Glob(pattern)
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				return err
			}
		}
		if err != nil || len(names) == 0 {
			return fmt.Errorf("no %s: %w", pattern, err)
		}
	}
	if err := command("make", "-s", "OUT="+built); err != nil {
		return err
	}
	// The modules, in one folder.
	data := filepath.Join(built, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	files, _ := filepath.Glob("../../gpu/levelzero/testdata/*.spv")
	for _, file := range append(files, "../../gpu/opencl/testdata/scale.spv") {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(data, filepath.Base(file)), b, 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"observe", "host", "hits", "formats"} {
		if err := program(name, filepath.Join(built, name), "-lze_loader", "-ldl"); err != nil {
			return err
		}
	}
	if err := program("opened", filepath.Join(built, "opened"), "-ldl"); err != nil {
		return err
	}
	return program("fake_driver", filepath.Join(built, "fake.so"), "-shared", "-fPIC", "-U_GNU_SOURCE", "-ldl")
}

// program compiles one C program of testdata.
func program(source, to string, flags ...string) error {
	args := []string{
		"-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread",
		"-o", to, filepath.Join("testdata", source+".c"),
	}
	return command("cc", append(args, flags...)...)
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// stage is a set of folders that several processes of one test share.
type stage struct {
	dir string
	env []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t.TempDir(), []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"}}
	cbuild.Digests(t, s.path("cache"))
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// data returns a module's file.
func data(name string) string { return filepath.Join(built, "data", name+".spv") }

// shimmed is the environment that puts the shim, and what is named, before the driver, with
// the library behind the shim.
func (s *stage) shimmed(t *testing.T, behind ...string) []string {
	t.Helper()
	path := cbuild.Library(t).Library
	preloaded := append([]string{filepath.Join(built, shim)}, behind...)
	return []string{
		"LD_PRELOAD=" + strings.Join(preloaded, ":"), "KERNSTASH_LIBRARY=" + path, "KERNSTASH_DIR=" + s.path("cache"), "KERNSTASH_WORKER=off",
	}
}

// result is how a process ended.
type result struct {
	code     int
	out, err string
	events   []event // that it reported
	took     time.Duration
}

// event is a line of a report.
type event struct {
	Event, Outcome, Reason string
	FrontEnd               string `json:"front_end"`
}

// run runs a compiled program to its end, in a folder of its own for what the driver writes.
// It may be called at the same time.
func (s *stage) run(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	return s.runIn(t, t.TempDir(), env, name, args...)
}

func (s *stage) runIn(t *testing.T, dir string, env []string, name string, args ...string) result {
	t.Helper()
	report := filepath.Join(dir, "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(name, "/") {
		name = filepath.Join(built, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.path("home"), "KERNSTASH_REPORT=" + report}, s.env...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A process that waits for itself is killed, and shows where.
	timer := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String(), took: time.Since(start)}
	lines, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		r.events = append(r.events, e)
	}
	return r
}

// mustRun is run of a program that has to end well.
func (s *stage) mustRun(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	r := s.run(t, env, name, args...)
	if r.code != 0 {
		t.Fatalf("%s %v: exit %d after %v\n%s\n%s", name, args, r.code, r.took, tail(r.out), tail(r.err))
	}
	return r
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// count counts the events of an outcome.
func (r result) count(outcome string) (n int) {
	for _, e := range r.events {
		if e.Outcome == outcome {
			n++
		}
	}
	return n
}

// What differs between two runs without the shim: addresses in link logs.
var address = regexp.MustCompile(`Module <0x[0-9a-f]+>`)

func normal(out string) string { return address.ReplaceAllString(out, "Module") }
