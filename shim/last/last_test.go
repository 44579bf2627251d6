//go:build linux

// Package last_test runs processes that end right after a build, on the real drivers and
// compilers: what they built is there for the next. apt-get install
// pocl-opencl-icd intel-opencl-icd libze1 libze-dev libnvrtc11.2.
package last_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// busyVariable has this binary keep a processor busy, and do nothing else.
const busyVariable = "KERNSTASH_TEST_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busyVariable) != "" {
		for start := time.Now(); time.Since(start) < 10*time.Minute; {
		}
		return
	}
	os.Exit(cbuild.Main(m))
}

// front ends are the ways into the cache.
var frontEnds = []struct {
	name  string
	flags []string // of the program
	file  string   // its argument
	env   []string
	left  string // what a process leaves for the next, in the cache's folder
}{
	// Where code is made at launches, a job for the worker is left.
	{"PoCL", []string{"-DOPENCL", "-lOpenCL"}, "", []string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd"}, ".meta/spool/*/*"},
	{"Intel", []string{"-DOPENCL", "-lOpenCL"}, "", append([]string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd"}, intel...), entry},
	{"LevelZero", []string{"-DLEVELZERO", "-lze_loader"}, absolute("../../gpu/opencl/testdata/scale.spv"), intel, entry},
	{"NVRTC", []string{"-DNVRTC", "-ldl"}, "libnvrtc.so.11.2", nil, entry},
}

// intel has the drivers do without hardware.
var intel = []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"}

const entry = "*/*/*/*/*.bin"

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

// busy keeps every processor busy until the test ends.
func busy(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), busyVariable+"=1", "GOMAXPROCS=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// host runs the program of a front end under the cache.
type host struct {
	program, file string
	env           []string
}

// run builds the program of a number, and ends so. It returns what the next process can
// tell: "disk" where it finds what was built, "compiled" where it builds.
func (h *host) run(t *testing.T, number int, end string) (outcome string) {
	t.Helper()
	dir := t.TempDir() // for what drivers write
	report := filepath.Join(dir, "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(h.program, strconv.Itoa(number), end, h.file)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "POCL_CACHE_DIR=" + dir, "KERNSTASH_REPORT=" + report}, h.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []string{"disk", "compiled", "passed", "failed"} {
		if bytes.Contains(b, fmt.Appendf(nil, `"outcome":%q`, o)) {
			return o
		}
	}
	return "nothing: " + string(b)
}

// left counts what processes have left for the next.
func left(t *testing.T, pattern string) int {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A process may end in any way right after a build, while the machine is busy: in the long
// form it is kept so, else by what tests run beside this one. The end is not delayed for long,
// so a build may be lost now and then: one of ten at the most.
func TestLastBuildIsStored(t *testing.T) {
	rounds := 1
	lib := cbuild.Library(t)
	if timing.IsLong() {
		rounds = 10
		busy(t)
	}
	all, lost := 0, 0
	for _, d := range frontEnds {
		root := filepath.Join(t.TempDir(), "cache")
		h := &host{
			program: lib.CompileAlone(t, []string{"testdata/last.c"}, append([]string{"-D_GNU_SOURCE"}, d.flags...)...),
			file:    d.file,
			env: append([]string{
				"LD_PRELOAD=" + filepath.Join(lib.Dir, "libkernstash_preload.so"), "OPENCL_LAYERS=" + lib.Layer,
				"KERNSTASH_DIR=" + root, "KERNSTASH_WORKER=off", "NEO_CACHE_PERSISTENT=0",
			}, d.env...),
		}
		pattern := filepath.Join(root, d.left)
		for number := range 3 * rounds {
			end := []string{"return", "exit", "_exit"}[number%3]
			before := left(t, pattern)
			outcome := h.run(t, number, end)
			all++
			if strings.HasPrefix(outcome, "nothing") { // nor was it told of
				lost++
				t.Logf("%s: program %d of a process that ended by %s: %s", d.name, number, end, outcome)
				continue
			}
			if outcome != "compiled" {
				t.Fatalf("%s: %s of program %d", d.name, outcome, number)
			}
			if left(t, pattern) == before {
				lost++
				t.Logf("%s: program %d of a process that ended by %s is lost", d.name, number, end)
			} else if d.left == entry {
				if outcome := h.run(t, number, end); outcome != "disk" {
					t.Errorf("%s: program %d again: %s", d.name, number, outcome)
				}
			}
		}
	}
	t.Logf("%d of %d lost", lost, all)
	if lost*10 > all {
		t.Error("too many")
	}
}
