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
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
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

// frontEnd is a way into the cache.
type frontEnd struct {
	name  string
	flags []string // of the program
	file  string   // its argument
	env   []string
	left  string // what a process leaves for the next, in the cache's folder
}

var frontEnds = []frontEnd{
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

func newHost(t *testing.T, lib *cbuild.Built, root string, d frontEnd) *host {
	t.Helper()
	return &host{
		program: lib.CompileAlone(t, []string{"testdata/last.c"}, append([]string{"-D_GNU_SOURCE"}, d.flags...)...),
		file:    d.file,
		env: append([]string{
			"LD_PRELOAD=" + filepath.Join(lib.Dir, "libkernstash_preload.so"), "OPENCL_LAYERS=" + lib.Layer,
			"KERNSTASH_DIR=" + root, "KERNSTASH_WORKER=off", "NEO_CACHE_PERSISTENT=0",
		}, d.env...),
	}
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
		h := newHost(t, lib, root, d)
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

// What is hit right before the end is counted, and recorded of the application, while the machine is busy or not: by
// exit, in whatever it is called, a process waits until that is written.
func TestLastHitIsCounted(t *testing.T) {
	rounds := 2
	lib := cbuild.Library(t)
	if timing.IsLong() {
		rounds = 20
		busy(t)
	}
	for _, d := range frontEnds {
		if d.left != entry {
			continue // a worker stores it
		}
		root := filepath.Join(t.TempDir(), "cache")
		h := newHost(t, lib, root, d)
		hits := 0
		for tries := 0; hits == 0; tries++ { // what is built may be lost: see TestLastBuildIsStored
			switch outcome := h.run(t, 0, "return"); {
			case outcome == "disk":
				hits++
			case tries == 3:
				t.Fatalf("%s: %s", d.name, outcome)
			}
		}
		ends := []string{"return", "exit", "handler"}
		if d.name == "NVRTC" { // drivers may not end twice
			ends = append(ends, "child")
		}
		for range rounds {
			for _, end := range ends {
				if outcome := h.run(t, 0, end); outcome != "disk" {
					t.Fatalf("%s, %s: %s", d.name, end, outcome)
				}
				hits++
			}
		}
		store := disk.New(disk.Options{Dir: root})
		defer store.Close()
		all, err := store.Stats()
		if err != nil {
			t.Fatal(err)
		}
		recorded := int64(0)
		if err := store.TakeRecords(t.Context(), func(_ string, b []byte) error {
			records.Parse(b, func(l records.Line) { recorded += l.Hits })
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n := all.Get(stats.DiskHits); n != int64(hits) || recorded != n {
			t.Errorf("%s: of %d hits %d are counted, %d recorded", d.name, hits, n, recorded)
		}
	}
}
