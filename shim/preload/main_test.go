//go:build linux

// Package preload_test builds the library that is preloaded, and programs that use
// run-time compilers, and runs them on the real NVRTC and HIPRTC: apt-get install
// libnvrtc11.2 libamdhip64-5.
package preload_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

func TestMain(m *testing.M) { os.Exit(cbuild.Main(m)) }

const (
	nvrtc  = "libnvrtc.so.11.2"
	hiprtc = "libamdhip64.so.5"
)

// stage is a working directory with a cache, which processes of one test share.
type stage struct {
	t         *testing.T
	lib       *cbuild.Built
	dir, work string
	preload   string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, lib: cbuild.Library(t), dir: t.TempDir()}
	s.preload = filepath.Join(s.lib.Dir, "libkernstash_preload.so")
	s.work = filepath.Join(s.dir, "work")
	cbuild.Digests(t, filepath.Join(s.dir, "cache"))
	s.write("include/file.h", "#define N 3\n")
	s.write("include/outer.h", "#include \"file.h\"\n#define O N\n")
	if err := os.MkdirAll(filepath.Join(s.work, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := needs.WriteProgram(path, []byte(text), 0o600); err != nil { // some are executed
		s.t.Fatal(err)
	}
}

// program compiles one of testdata, which stays for a while when it is done.
func (s *stage) program(name string, flags ...string) string {
	s.t.Helper()
	return s.lib.CompileAlone(s.t, []string{filepath.Join("testdata", name+".c"), filepath.Join("testdata", "stay.c")},
		append([]string{"-D_GNU_SOURCE", "-pthread", "-ldl"}, flags...)...)
}

// outcome is how a process ended.
type outcome struct {
	code     int
	out, err string
	report   map[string]int // programs, by what became of them: disk, compiled, failed, passed
	took     time.Duration
}

// run runs a program; with puts the cache in front.
func (s *stage) run(with bool, env []string, name string, args ...string) outcome {
	s.t.Helper()
	report, err := os.CreateTemp(s.dir, "report-")
	if err != nil {
		s.t.Fatal(err)
	}
	report.Close()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.work
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "KERNSTASH_DIR=" + filepath.Join(s.dir, "cache"),
		"KERNSTASH_REPORT=" + report.Name(), "HOME=" + s.dir,
		"KERNSTASH_TRACE=disk", "KERNSTASH_TRACE_FILE=" + report.Name() + ".trace", // see settle.h
	}, env...)
	if with {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+s.preload)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	timer := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	o := outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String(), report: make(map[string]int), took: time.Since(start)}
	b, err := os.ReadFile(report.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var e struct{ Event, Outcome, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Errorf("%q: %v", line, err)
		}
		if e.Event == "out" {
			o.report["out: "+e.Reason]++
		} else if e.Outcome != "" {
			o.report[e.Outcome]++
		}
	}
	return o
}

// mustRun is run of a program that has to end well.
func (s *stage) mustRun(with bool, env []string, name string, args ...string) outcome {
	s.t.Helper()
	o := s.run(with, env, name, args...)
	if o.code != 0 {
		s.t.Fatalf("%s %v: exit %d after %v\n%s\n%s", filepath.Base(name), args, o.code, o.took, tail(o.out), tail(o.err))
	}
	return o
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// entries returns the entries of the cache.
func (s *stage) entries() []string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "cache", "*/*/*/*/*.bin"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}
