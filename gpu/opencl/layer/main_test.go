//go:build !nogpu

package layer_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
)

// These tests run on PoCL, which executes on the processor, and on Intel's
// driver, which compiles for a product that is not there when its debug keys say
// so. Where one is missing they fail, unless withoutOpenCL is set to 1.
const (
	withoutOpenCL = "KERNSTASH_TEST_NO_OPENCL"
	childVariable = "KERNSTASH_TEST_CHILD"
	rootVariable  = "KERNSTASH_TEST_ROOT"
)

// children are what this test binary does when it is started again with
// childVariable set: whatever needs another process. Each writes its result to
// standard output.
var children = map[string]func() error{}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(withoutOpenCL) == "1" {
		fmt.Println("OPENCL IS NOT TESTED:", withoutOpenCL, "is set")
		return 0
	}
	dir, err := os.MkdirTemp("", "kernstash-layer-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Drivers read their variables when they are loaded, at the first call; and
	// Intel's writes .aub files into the working directory.
	for _, v := range [][2]string{
		{"POCL_CACHE_DIR", dir + "/pocl"},
		{"NEOReadDebugKeys", "1"},
		{"SetCommandStreamReceiver", "1"},
		{"ProductFamilyOverride", "tgllp"},
		{"NEO_CACHE_PERSISTENT", "0"},
	} {
		os.Setenv(v[0], v[1])
	}
	if err := os.Mkdir(dir+"/pocl", 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chdir(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if name := os.Getenv(childVariable); name != "" {
		if err := children[name](); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			return 1
		}
		return 0
	}
	return m.Run()
}

// resultMark stands before what a child says: drivers write there too.
const resultMark = "\nresult:"

// child starts this binary again as a child, with more variables, and returns
// what it says.
func child(t testing.TB, name string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	// Else each sleeps a second at its end under the race detector.
	cmd.Env = append(append(os.Environ(), childVariable+"="+name, "GORACE=atexit_sleep_ms=0"), env...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s%s", name, err, out, failed.String())
	}
	_, text, _ := strings.Cut(string(out), resultMark)
	return text
}

// device returns the first device of a platform, by its suffix.
func device(t testing.TB, suffix string) *opencl.Device {
	t.Helper()
	d, err := firstDevice(suffix)
	if err != nil {
		t.Fatalf("%v: apt-get install pocl-opencl-icd intel-opencl-icd, or set %s=1 to go without", err, withoutOpenCL)
	}
	return d
}

func firstDevice(suffix string) (*opencl.Device, error) {
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Platform().Suffix == suffix {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no device of platform %s among %d", suffix, len(devices))
}
