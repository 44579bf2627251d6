//go:build linux

package opencl_layer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All that an application can see of programs and kernels is the same without
// the layer (twice: the control), with a cold cache, and with a warm one. On Intel's driver
// that is the longest test of all, and TestObservedTheSameWithTheLibrary is there.
func TestObservedTheSame(t *testing.T) {
	t.Parallel()
	tested := drivers
	if os.Getenv("KERNSTASH_TEST_LONG") != "1" {
		tested = tested[:1]
	}
	for _, d := range tested {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			without := normal(s.mustRun(t, nil, "observe").out)
			if diff := cmp.Diff(without, normal(s.mustRun(t, nil, "observe").out)); diff != "" {
				t.Fatalf("the control differs:\n%s", diff)
			}
			cold := s.mustRun(t, s.layered(), "observe")
			if diff := cmp.Diff(without, normal(cold.out)); diff != "" {
				t.Errorf("cold:\n%s", diff)
			}
			warm := s.mustRun(t, s.layered(), "observe")
			if diff := cmp.Diff(without, normal(warm.out)); diff != "" {
				t.Errorf("warm:\n%s", diff)
			}
			if n := count(cold.log, "built"); n < 5 {
				t.Errorf("cold: %d programs built:\n%s", n, cold.log)
			}
			if built, restored := count(warm.log, "built"), count(warm.log, "restored"); built != 0 || restored < 10 {
				t.Errorf("warm: %d built, %d restored:\n%s", built, restored, warm.log)
			}
			if n := count(warm.log, "refused"); n != 0 {
				t.Errorf("warm: %d refused", n)
			}
		})
	}
}

// Programs for two devices, both in the cache or one of them, for which alone the
// driver builds; and for one after the other.
func TestObservedTheSameForTwoDevices(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"", "FAKE=partial"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, drivers[0])
			// PoCL has a second device when it is asked to.
			two := []string{"POCL_DEVICES=pthread basic", fault}
			without := normal(s.mustRun(t, two, "observe", "two").out)
			for _, name := range []string{"cold", "warm"} {
				r := s.mustRun(t, append(s.layered(), two...), "observe", "two")
				if diff := cmp.Diff(without, normal(r.out)); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
				if count(r.log, "begin build 2 devices") != 1 || name == "warm" && count(r.log, "restored") == 0 {
					t.Errorf("%s:\n%s", name, r.log)
				}
			}
		})
	}
}

// The same, preloaded before a loader, with the layer there too: one is active.
func TestObservedTheSamePreloaded(t *testing.T) {
	t.Parallel()
	parts := "options,rebuild,lifetimes,wrong"
	s := newStage(t, drivers[0])
	without := normal(s.mustRun(t, nil, "observe", parts).out)
	preloaded := append(s.layered(), "LD_PRELOAD="+filepath.Join(built, shim), "KERNSTASH_OPENCL_DOOR=preload")
	for _, name := range []string{"cold", "warm"} {
		r := s.mustRun(t, preloaded, "observe", parts)
		if diff := cmp.Diff(without, normal(r.out)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if !strings.Contains(r.report, `"door":"opencl-preload"`) || strings.Contains(r.report, "opencl-layer") {
			t.Errorf("%s: %s", name, r.report)
		}
		if n := count(r.log, "built"); n != 0 && name == "warm" {
			t.Errorf("%s: %d built", name, n)
		}
	}
	// And the other way about: preloaded, and the layer asked for.
	for _, door := range []string{"", "KERNSTASH_OPENCL_DOOR=layer"} {
		r := s.mustRun(t, append(s.layered(), "LD_PRELOAD="+filepath.Join(built, shim), door), "observe", "lifetimes")
		if !strings.Contains(r.report, `"door":"opencl-layer"`) || strings.Contains(r.report, "opencl-preload") {
			t.Errorf("%s: %s", door, r.report)
		}
		if count(r.log, "restored") == 0 {
			t.Errorf("%s: %s", door, r.log)
		}
	}
}

// The shim that looks for errors of memory finds none with a real driver.
func TestObservedBySanitizer(t *testing.T) {
	if os.Getenv("KERNSTASH_TEST_LONG") != "1" {
		t.Skip("longer than a minute: KERNSTASH_TEST_LONG=1 runs it")
	}
	t.Parallel()
	var runtimes []string
	for _, name := range []string{"libasan.so", "libubsan.so"} {
		out, err := exec.Command("cc", "-print-file-name="+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		runtimes = append(runtimes, strings.TrimSpace(string(out)))
	}
	s := newStage(t, drivers[0])
	without := normal(s.mustRun(t, nil, "observe").out)
	env := []string{
		"OPENCL_LAYERS=" + filepath.Join(built, "asan", shim), "KERNSTASH_LIBRARY=" + filepath.Join(built, "libkernstash.so.1"),
		"LD_PRELOAD=" + strings.Join(runtimes, ":"), "ASAN_OPTIONS=detect_leaks=0", // PoCL's
	}
	for _, name := range []string{"cold", "warm"} {
		r := s.mustRun(t, env, "observe")
		if diff := cmp.Diff(without, normal(r.out)); diff != "" || strings.Contains(r.err, "Sanitizer") {
			t.Errorf("%s:\n%s\n%s", name, diff, tail(r.err))
		}
	}
}
