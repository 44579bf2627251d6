//go:build linux

// Package opencl_layer_test builds the OpenCL layer and programs that use it, and
// runs them as processes on real drivers.
package opencl_layer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// built is where everything is compiled into, once for all tests.
var built string

// shim is the layer as the Makefile makes it.
const shim = "libkernstash_opencl_layer.so"

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "kernstash-shim"); err != nil {
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

// sanitizers are the ways in which the shim is built, each into a folder of its
// name, the first into the one above.
var sanitizers = []struct {
	name  string
	flags []string
}{
	{".", nil},
	{"asan", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"}},
	{"tsan", []string{"-fsanitize=thread", "-fno-omit-frame-pointer"}},
}

func compile() error {
	// What is read here is looked at by those who keep results of tests.
	for _, pattern := range []string{"Makefile", "../shim.mk", "src/*.[ch]", "testdata/*.[ch]", "../library/*.[ch]", "../../capi/kernstash_layer.h"} {
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
	if err := cbuild.Shim("opencl", shim, built); err != nil {
		return err
	}
	// A shim opens the library beside it. The fake driver is not linked to by its name, so
	// that no real loader is taken for it.
	var libraries, programs []compilation
	for _, s := range sanitizers {
		dir := filepath.Join(built, s.name)
		library := append([]string{"-shared", "-fPIC", "-fvisibility=hidden"}, s.flags...)
		driver := filepath.Join(dir, "libfakecl.so")
		libraries = append(libraries,
			compilation{"fake_library", filepath.Join(dir, "libkernstash.so.1"), library},
			compilation{"fake_driver", driver, library})
		stress := append([]string{filepath.Join(dir, shim), driver, "-Wl,-rpath," + dir}, s.flags...)
		programs = append(programs, compilation{"stress", filepath.Join(dir, "stress"), stress})
	}
	for _, name := range []string{"host", "loader"} {
		programs = append(programs, compilation{name, filepath.Join(built, name), []string{"-ldl"}})
	}
	programs = append(programs, compilation{"plugin", filepath.Join(built, "host-plugin.so"), []string{"-shared", "-fPIC", "-lOpenCL"}})
	for _, name := range []string{"observe", "file", "units"} {
		programs = append(programs, compilation{name, filepath.Join(built, name), []string{"-lOpenCL"}})
	}
	if err := all(libraries); err != nil {
		return err
	}
	return all(programs)
}

// compilation is what program does.
type compilation struct {
	source, to string
	flags      []string
}

// all does compilations at the same time.
func all(compilations []compilation) error {
	errs := make([]error, len(compilations))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, c := range compilations {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = program(c.source, c.to, c.flags...)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
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

// driver is an OpenCL driver that the tests run on.
type driver struct {
	name string
	env  []string
}

var drivers = []driver{
	{"pocl", []string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd", "OBSERVE_POCL=1"}},
	// Without hardware it compiles for a product that is named.
	{"intel", []string{
		"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride=tgllp", "OBSERVE_SPIRV=" + absolute("../../gpu/opencl/testdata/scale.spv"),
	}},
}

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

// fake is the fake driver, behind a shim that comes first.
var fake = driver{"fake", []string{"KERNSTASH_OPENCL_DOOR=preload"}}

// stage is a set of folders that several processes of one test share.
type stage struct {
	driver
	dir string
}

func newStage(t *testing.T, d driver) *stage {
	t.Helper()
	s := &stage{d, t.TempDir()}
	for _, name := range []string{"store", "work", "pocl", "home"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// layered is the environment that puts the layer before the driver, with the
// fake library behind it.
func (s *stage) layered() []string {
	return []string{"OPENCL_LAYERS=" + filepath.Join(built, shim)}
}

// result is how a process ended.
type result struct {
	code     int
	out, err string
	log      string // what the fake library was told
	report   string
	took     time.Duration
}

// run runs a compiled program to its end.
func (s *stage) run(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	for _, leftover := range []string{"log", "report"} {
		if err := os.Remove(s.path(leftover)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path("report"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(name, "/") {
		name = filepath.Join(built, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = s.path("work")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "FAKE_STORE=" + s.path("store"), "HOME=" + s.path("home"), "POCL_CACHE_DIR=" + s.path("pocl"),
		"FAKE_LOG=" + s.path("log"), "KERNSTASH_REPORT=" + s.path("report"),
	}, s.env...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	// A process that waits for itself is killed, and shows where.
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{
		code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String(), took: time.Since(start),
		log: s.text(t, "log"), report: s.text(t, "report"),
	}
}

func (s *stage) text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(s.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// mustRun is run of a program that has to end well.
func (s *stage) mustRun(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	r := s.run(t, env, name, args...)
	if r.code != 0 {
		t.Fatalf("%s %v: exit %d after %v\n%s\n%s\n%s", name, args, r.code, r.took, tail(r.out), tail(r.err), tail(r.log))
	}
	return r
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// count counts the lines of a log that begin so.
func count(log, prefix string) (n int) {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
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

func normal(out string) string {
	for _, n := range noise {
		out = n.pattern.ReplaceAllString(out, n.text)
	}
	return out
}
