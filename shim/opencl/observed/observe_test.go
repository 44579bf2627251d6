//go:build linux

package observed_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// All that an application can see of programs and kernels is the same without
// the layer (twice in the long form: the control), with a cold cache, and with a warm one. On
// Intel's driver that is the longest test of all, and TestObservedTheSameWithTheLibrary is there.
func TestObservedTheSame(t *testing.T) {
	t.Parallel()
	tested := stage.Drivers
	if os.Getenv("KERNSTASH_TEST_LONG") != "1" {
		tested = tested[:1]
	}
	for _, d := range tested {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, d)
			without := stage.Normal(s.MustRun(t, nil, "observe").Out)
			if timing.IsLong() {
				if diff := cmp.Diff(without, stage.Normal(s.MustRun(t, nil, "observe").Out)); diff != "" {
					t.Fatalf("the control differs:\n%s", diff)
				}
			}
			cold := s.MustRun(t, s.Layered(), "observe")
			if diff := cmp.Diff(without, stage.Normal(cold.Out)); diff != "" {
				t.Errorf("cold:\n%s", diff)
			}
			warm := s.MustRun(t, s.Layered(), "observe")
			if diff := cmp.Diff(without, stage.Normal(warm.Out)); diff != "" {
				t.Errorf("warm:\n%s", diff)
			}
			if n := stage.Count(cold.Log, "built"); n < 5 {
				t.Errorf("cold: %d programs built:\n%s", n, cold.Log)
			}
			if built, restored := stage.Count(warm.Log, "built"), stage.Count(warm.Log, "restored"); built != 0 || restored < 10 {
				t.Errorf("warm: %d built, %d restored:\n%s", built, restored, warm.Log)
			}
			if n := stage.Count(warm.Log, "refused"); n != 0 {
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
			if fault != "" {
				timing.Long(t)
			}
			s := stage.New(t, stage.PoCL)
			// PoCL has a second device when it is asked to.
			two := []string{"POCL_DEVICES=pthread basic", fault}
			without := stage.Normal(s.MustRun(t, two, "observe", "two").Out)
			for _, name := range []string{"cold", "warm"} {
				r := s.MustRun(t, append(s.Layered(), two...), "observe", "two")
				if diff := cmp.Diff(without, stage.Normal(r.Out)); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
				if stage.Count(r.Log, "begin build 2 devices") != 1 || name == "warm" && stage.Count(r.Log, "restored") == 0 {
					t.Errorf("%s:\n%s", name, r.Log)
				}
			}
		})
	}
}

// The same, preloaded before a loader, with the layer there too: one is active.
func TestObservedTheSamePreloaded(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	parts := "options,rebuild,lifetimes,wrong"
	s := stage.New(t, stage.PoCL)
	without := stage.Normal(s.MustRun(t, nil, "observe", parts).Out)
	preloaded := append(s.Layered(), "LD_PRELOAD="+stage.Built(stage.Shim), "KERNSTASH_INJECT=preload")
	for _, name := range []string{"cold", "warm"} {
		r := s.MustRun(t, preloaded, "observe", parts)
		if diff := cmp.Diff(without, stage.Normal(r.Out)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if !strings.Contains(r.Report, `"front_end":"opencl-preload"`) || strings.Contains(r.Report, "opencl-layer") {
			t.Errorf("%s: %s", name, r.Report)
		}
		if n := stage.Count(r.Log, "built"); n != 0 && name == "warm" {
			t.Errorf("%s: %d built", name, n)
		}
	}
	// And the other way about: preloaded, and the layer asked for.
	for _, frontEnd := range []string{"", "KERNSTASH_INJECT=layer"} {
		r := s.MustRun(t, append(s.Layered(), "LD_PRELOAD="+stage.Built(stage.Shim), frontEnd), "observe", "lifetimes")
		if !strings.Contains(r.Report, `"front_end":"opencl-layer"`) || strings.Contains(r.Report, "opencl-preload") {
			t.Errorf("%s: %s", frontEnd, r.Report)
		}
		if stage.Count(r.Log, "restored") == 0 {
			t.Errorf("%s: %s", frontEnd, r.Log)
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
	s := stage.New(t, stage.PoCL)
	without := stage.Normal(s.MustRun(t, nil, "observe").Out)
	env := []string{
		"OPENCL_LAYERS=" + stage.Built("asan/"+stage.Shim), "KERNSTASH_LIBRARY=" + stage.Program(t, "libkernstash.so.1"),
		"LD_PRELOAD=" + strings.Join(runtimes, ":"), "ASAN_OPTIONS=detect_leaks=0", // PoCL's
	}
	for _, name := range []string{"cold", "warm"} {
		r := s.MustRun(t, env, "observe")
		if diff := cmp.Diff(without, stage.Normal(r.Out)); diff != "" || strings.Contains(r.Err, "Sanitizer") {
			t.Errorf("%s:\n%s\n%s", name, diff, stage.Tail(r.Err))
		}
	}
}

// All that can be observed is the same with the library itself; the short form has a half of it.
func TestObservedTheSameWithTheLibrary(t *testing.T) {
	t.Parallel()
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name == stage.PoCL.Name {
				timing.Long(t)
			}
			s := stage.New(t, d)
			env := s.WithLibrary(t)
			parts, least := "options,run,rebuild,lifetimes,separately,modules", 20
			if !timing.IsLong() {
				parts, least = "run,separately,modules", 5
			}
			without := stage.Normal(s.MustRun(t, nil, "observe", parts).Out)
			for _, name := range []string{"cold", "warm"} {
				if diff := cmp.Diff(without, stage.Normal(s.MustRun(t, env, "observe", parts).Out)); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
			}
			// PoCL's code is made when a kernel is launched: the worker stores it.
			if hits := strings.Count(s.Text(t, "trace"), "msg=hit"); d.Name == "intel" && hits < least {
				t.Errorf("%d hits", hits)
			}
		})
	}
}
