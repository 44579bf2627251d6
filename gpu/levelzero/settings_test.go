//go:build !nogpu && linux

package levelzero_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

func init() {
	children["settings"] = settingsChild
	children["one compiler"] = oneCompilerChild
}

const settingsVariable = "KERNSTASH_TEST_SETTINGS"

// The driver keeps the settings of the directory that it is loaded in, where a process goes
// afterwards.
func TestSettingsOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ settings, want string }{
		{"ProductFamilyOverride = tgllp\nSetCommandStreamReceiver = 1\n", "the compiler obeys a file of settings: igdrcl.config or neo.config"},
		{"", "the compiler obeys a file of settings, maybe: igdrcl.config or neo.config of another working directory"},
	} {
		if got := child(t, "settings", settingsVariable+"="+c.settings); got != c.want {
			t.Errorf("settings %q: %q, want %q", c.settings, got, c.want)
		}
	}
}

func settingsChild() error {
	if settings := os.Getenv(settingsVariable); settings != "" {
		if err := os.WriteFile("igdrcl.config", []byte(settings), 0o600); err != nil {
			return err
		}
	}
	d, err := firstDevice()
	if err != nil {
		return err
	}
	if err := os.Mkdir("elsewhere", 0o700); err != nil {
		return err
	}
	if err := os.Chdir("elsewhere"); err != nil {
		return err
	}
	_, err = d.SteadyVariables()
	fmt.Print(resultMark, err)
	return nil
}

// OpenCL's driver and Level Zero's have one compiler in a process, which keeps the switches of
// its first compilation, whichever of the two asked for it.
func TestOneCompilerForBothDrivers(t *testing.T) {
	t.Parallel()
	const want = "not cacheable: the runtime (environment variables of the compiler changed since the driver was loaded)"
	for _, first := range []string{"level zero", "opencl"} {
		got := child(t, "one compiler", settingsVariable+"="+first, rootVariable+"="+filepath.Join(t.TempDir(), "root"),
			"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd")
		if got != want {
			t.Errorf("%s first: the other one is cached: %q, want %q", first, got, want)
		}
	}
}

func oneCompilerChild() error {
	cache, x, err := cached(os.Getenv(rootVariable))
	if err != nil {
		return err
	}
	defer cache.Close()
	defer x.Close()
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil || len(devices) == 0 {
		return fmt.Errorf("no device of OpenCL: %w", err)
	}
	c, err := opencl.NewContext(cache, devices[0])
	if err != nil {
		return err
	}
	defer c.Close()
	modules, err := requests()
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void k(global int *a) { a[0] = 1; }"))
	if err != nil {
		return err
	}
	var against string
	build := []func() error{
		func() error {
			p, err := x.Program(context.Background(), modules["scale"])
			if err != nil {
				return err
			}
			against = p.UncacheableReason()
			p.Release()
			return nil
		},
		func() error {
			p, err := c.Program(context.Background(), kernstash.Request{Image: image})
			if err != nil {
				return err
			}
			against = p.UncacheableReason()
			p.Release()
			return nil
		},
	}
	if os.Getenv(settingsVariable) == "opencl" {
		slices.Reverse(build)
	}
	os.Setenv("IGC_ForceOCLSIMDWidth", "8")
	if err := build[0](); err != nil {
		return err
	}
	os.Unsetenv("IGC_ForceOCLSIMDWidth")
	if err := build[1](); err != nil {
		return err
	}
	fmt.Print(resultMark, against)
	return nil
}
