//go:build linux

package fakes_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// numbers are what a run of stress ends with.
func numbers(t *testing.T, r stage.Result) (built, restored int) {
	t.Helper()
	if _, err := fmt.Sscanf(r.Out, "built %d restored %d", &built, &restored); err != nil {
		t.Fatalf("%v in %q", err, r.Out)
	}
	return built, restored
}

// An application cannot tell the difference, in many ways of building; the long form has
// three builds of the shim, of which two look for errors of memory and of threads.
// The program itself compares; here the numbers of real builds are looked at:
// each scenario has those of wrong calls, too.
func TestStress(t *testing.T) {
	t.Parallel()
	scenarios := []struct {
		name       string
		env        []string
		cold, warm int // builds by the driver; -1: whatever
	}{
		// One of the builds is refused: a kernel is there.
		{"first", nil, 2, 0},
		{"loop", nil, 20, 0},
		{"threads", nil, -1, 0},
		{"same", nil, -1, 0},
		{"small", nil, 2, 0},
		{"callbacks", nil, 5, 1}, // one fails
		{"callbacks", []string{"FAKE_DRIVER=async"}, 5, 1},
		{"lifetimes", nil, 2, 0},
		{"rebuilds", nil, -1, -1},
		{"rebuilds", []string{"FAKE_DEVICES=2"}, -1, -1},
		{"forked-with", nil, -1, 0},
		{"forked", nil, 0, 0}, // here; there each builds
		// Compiled again with a log of none, and built after all: known, too.
		{"separately", nil, -1, -1},
		{"separately", []string{"FAKE=unlinked"}, -1, -1},
		{"separately", []string{"FAKE=pass"}, -1, -1},
		{"separately", []string{"FAKE_KIND=2"}, -1, -1},
		// What is served is refused, the compiled units too.
		{"separately", []string{"FAKE=stubborn"}, -1, -1},
		{"together", nil, -1, -1},
		{"together", []string{"FAKE=unlinked"}, -1, -1},
		{"forked-during", []string{"FAKE=slow"}, 2, 0},
		{"aside", nil, 2, 2},
		{"answers", []string{"FAKE=answer", "FAKE_KIND=1"}, 2, 0},
		{"asked-together", []string{"FAKE=gone", "FAKE_KIND=1", "FAKE_DRIVER=slow"}, 2, 1},
		{"asked-together", []string{"FAKE=gone", "FAKE_KIND=1", "FAKE_DRIVER=slow", "FAKE_DEVICES=3"}, 2, 1},
		{"asked-in-a-child", []string{"FAKE=gone", "FAKE_KIND=1", "FAKE_DRIVER=slow"}, -1, 1},
		{"cancelled", []string{"FAKE=slow"}, -1, -1},
		// Faults of the library and of the driver.
		{"loop", []string{"FAKE=partial", "FAKE_DEVICES=3"}, -1, 1000},
		{"threads", []string{"FAKE=partial", "FAKE_DEVICES=2"}, -1, 320},
		{"callbacks", []string{"FAKE=partial", "FAKE_DEVICES=2"}, -1, -1},
		{"threads", []string{"FAKE=refuse"}, -1, -1},
		{"loop", []string{"FAKE=stubborn"}, 2000, 2000},
		{"loop", []string{"FAKE=mangled"}, 2000, 2000},
		{"callbacks", []string{"FAKE=mangled"}, 9, 9},
		{"threads", []string{"FAKE=pass"}, 640, 640},
		{"loop", []string{"FAKE=abi"}, 2000, 2000},
		{"first", []string{"FAKE_DRIVER=memory"}, 2, 2},
		{"loop", []string{"FAKE_KIND=2"}, 2000, 2000},
		{"callbacks", []string{"FAKE_KIND=1"}, 5, 1},
	}
	for _, s := range stage.Sanitizers() {
		for _, sc := range scenarios {
			// ThreadSanitizer takes the parent's threads for the child's.
			if s == "tsan" && sc.name == "asked-in-a-child" {
				continue
			}
			t.Run(fmt.Sprint(s, sc.name, sc.env), func(t *testing.T) {
				t.Parallel()
				on := stage.New(t, stage.Fake)
				for _, round := range []struct {
					name string
					want int
				}{{"cold", sc.cold}, {"warm", sc.warm}} {
					r := on.MustRun(t, sc.env, s+"/stress", sc.name)
					if n, _ := numbers(t, r); round.want >= 0 && n != round.want {
						t.Errorf("%s: %d built by the driver, want %d\n%s", round.name, n, round.want, stage.Tail(r.Log))
					}
					if r.Err != "" {
						t.Errorf("%s: %s", round.name, r.Err)
					}
				}
			})
		}
	}
}

// The shim and the interposer before a driver without a loader; the long form has three
// builds of both, of which two look for errors of memory and of threads.
func TestStressOpened(t *testing.T) {
	t.Parallel()
	stage.Interposers(t)
	for _, s := range stage.Sanitizers() {
		for _, scenario := range []string{"first", "threads", "same", "callbacks", "lifetimes", "rebuilds", "forked-with", "together"} {
			t.Run(s+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				dir := stage.Built(s)
				on := stage.New(t, stage.Driver{Name: "fake", Env: stage.Opened(stage.Program(t, s+"/libfakecl.so"), "local")})
				preload := filepath.Join(dir, stage.Interposer)
				if s != "." {
					out, err := exec.Command("cc", "-print-file-name=lib"+s+".so").Output()
					if err != nil {
						t.Fatal(err)
					}
					preload = strings.TrimSpace(string(out)) + ":" + preload
				}
				env := []string{
					"LD_PRELOAD=" + preload, "KERNSTASH_INJECT=layer", "ASAN_OPTIONS=detect_leaks=0",
					"TSAN_OPTIONS=die_after_fork=0",
				}
				for range 2 {
					r := on.MustRun(t, env, s+"/stress-opened", scenario)
					if strings.Contains(r.Err, "Sanitizer") || strings.Contains(r.Err, "runtime error") {
						t.Error(stage.Tail(r.Err))
					}
					if stage.Count(r.Log, "begin") == 0 || !strings.Contains(r.Report, `"front_end":"opencl-preload"`) {
						t.Errorf("not served: %s\n%s", r.Report, r.Log)
					}
				}
			})
		}
	}
}
