//go:build linux

// Package stage runs programs on the OpenCL layer, for the tests of it: on real drivers or
// a fake one, with the library or a fake one. It is for tests alone:
//
//	func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
//
//	s := stage.New(t, stage.PoCL)
//	want := s.MustRun(t, nil, "observe").Out
//	got := s.MustRun(t, s.WithLibrary(t), "observe").Out
//
// The programs are those of shim/opencl/testdata, and are compiled when they are run first.
package stage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Stage is a set of folders that several processes of one test share: store (of the fake
// library), work, where they run, pocl, and home.
type Stage struct {
	Driver
	t   testing.TB
	dir string
}

// New makes a stage, which goes when the test has ended.
func New(t testing.TB, d Driver) *Stage {
	t.Helper()
	s := &Stage{d, t, t.TempDir()}
	for _, name := range []string{"store", "work", "pocl", "home"} {
		if err := os.Mkdir(s.Path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Path is the path of a file or folder of the stage.
func (s *Stage) Path(name string) string { return filepath.Join(s.dir, name) }

// Layered is the environment that puts the layer before the driver, with the fake library
// behind it.
func (s *Stage) Layered() []string {
	s.t.Helper()
	Program(s.t, "libkernstash.so.1")
	return []string{"OPENCL_LAYERS=" + Built(Shim)}
}

// WithLibrary is the environment that puts the layer before the driver with the library
// itself, which keeps its cache in the stage, and no worker.
func (s *Stage) WithLibrary(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(s.Path("cache")); err != nil {
		cbuild.Digests(s.t, s.Path("cache"))
	}
	return []string{
		"OPENCL_LAYERS=" + Built(Shim), "KERNSTASH_LIBRARY=" + cbuild.Library(t).Library, "KERNSTASH_DIR=" + s.Path("cache"),
		"KERNSTASH_WORKER=off", "KERNSTASH_TRACE=disk", "KERNSTASH_TRACE_FILE=" + s.Path("trace"),
	}
}

// Result is how a process ended.
type Result struct {
	Code     int
	Out, Err string
	Log      string // what the fake library was told
	Report   string // KERNSTASH_REPORT
	Took     time.Duration
}

// Run runs a program to its end, in an environment that has the driver's, and env behind
// it. A name without a slash, or below one of Sanitizers, is one of testdata.
func (s *Stage) Run(t testing.TB, env []string, name string, args ...string) Result {
	t.Helper()
	for _, fresh := range []string{"log", "report"} {
		if err := os.WriteFile(s.Path(fresh), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !filepath.IsAbs(name) {
		name = Program(t, name)
	}
	// A process that waits for itself is killed, and shows where.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.Path("work")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "FAKE_STORE=" + s.Path("store"), "HOME=" + s.Path("home"), "POCL_CACHE_DIR=" + s.Path("pocl"),
		"FAKE_LOG=" + s.Path("log"), "KERNSTASH_REPORT=" + s.Path("report"),
	}, s.environ()...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err, exit := cmd.Run(), new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{
		Code: cmd.ProcessState.ExitCode(), Out: stdout.String(), Err: stderr.String(), Took: time.Since(start),
		Log: s.Text(t, "log"), Report: s.Text(t, "report"),
	}
}

// MustRun is Run of a program that has to end well.
func (s *Stage) MustRun(t testing.TB, env []string, name string, args ...string) Result {
	t.Helper()
	r := s.Run(t, env, name, args...)
	if r.Code != 0 {
		t.Fatalf("%s %v: exit %d after %v\n%s\n%s\n%s", name, args, r.Code, r.Took, Tail(r.Out), Tail(r.Err), Tail(r.Log))
	}
	return r
}

// Text is what is in a file of the stage, "" where there is none.
func (s *Stage) Text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(s.Path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// Driver is an OpenCL driver that tests run on, with the environment that it needs.
type Driver struct {
	Name string
	Env  []string
}

// The real drivers are the machine's.
var (
	PoCL = Driver{"pocl", []string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd", "OBSERVE_POCL=1"}}
	// Without hardware it compiles for a product that is named.
	Intel = Driver{"intel", []string{
		"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride=tgllp",
	}}
	Drivers = []Driver{PoCL, Intel}

	// Fake is the fake driver, behind a shim that comes first.
	Fake = Driver{"fake", []string{"KERNSTASH_INJECT=preload"}}
)

// environ is Env, with what programs of testdata look for.
func (d Driver) environ() []string {
	if d.Name != Intel.Name {
		return d.Env
	}
	return append([]string{"OBSERVE_SPIRV=" + filepath.Join(root, "gpu", "opencl", "testdata", "scale.spv")}, d.Env...)
}

// What differs between two runs without the layer: sizes and digests of PoCL's
// binaries, names of temporary files, and the number of a compilation in its
// process, which Intel's compiler puts before the line of a message.
var noise = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`~[0-9a-f]+`), "~"},
	{regexp.MustCompile(`/[^ ":\n]*/tempfile[^ ":\n]*`), "TEMPFILE"},
	{regexp.MustCompile(`(CL_PROGRAM_BUILD_LOG: 0) size \d+ (short \S+) value 0 \d+ "\d+:(\d+:\d+: )`), `$1 $2 "$3`},
}

// Normal returns what a program wrote without what differs between any two runs.
func Normal(out string) string {
	for _, n := range noise {
		out = n.pattern.ReplaceAllString(out, n.text)
	}
	return out
}

// Tail returns the end of what a program wrote, for messages.
func Tail(s string) string { return s[max(0, len(s)-2000):] }

// Count counts the lines of a log that begin so.
func Count(log, prefix string) (n int) {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
