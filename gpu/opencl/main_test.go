//go:build !nogpu

package opencl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
)

// These tests run on PoCL, which executes on the processor, with a PoCL cache
// directory of their own. Where there is none they fail and say what to
// install, unless withoutOpenCL is set to 1.
const (
	withoutOpenCL = "KERNSTASH_TEST_NO_OPENCL"
	childVariable = "KERNSTASH_TEST_CHILD"
)

// children are what this test binary does when it is started again with
// childVariable set: whatever needs a fresh process. Each writes its result to
// standard output.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(runChild(name))
	}
	os.Exit(runTests(m))
}

func runChild(name string) int {
	f, ok := children[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no child", name)
		return 2
	}
	if err := f(); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

func runTests(m *testing.M) int {
	if os.Getenv(withoutOpenCL) == "1" {
		fmt.Println("OPENCL IS NOT TESTED:", withoutOpenCL, "is set")
		return 0
	}
	dir, err := os.MkdirTemp("", "kernstash-opencl-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// The driver reads it when it is loaded, which is at the first call; and
	// os.Setenv reaches C.
	os.Setenv("POCL_CACHE_DIR", dir)
	if icd := "/etc/OpenCL/vendors/pocl.icd"; os.Getenv("OCL_ICD_VENDORS") == "" && exists(icd) {
		os.Setenv("OCL_ICD_VENDORS", icd)
	}
	return m.Run()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// child starts this binary again as a child, with more variables, in a scratch
// directory, and returns what it writes.
func child(t testing.TB, name string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	// Else each sleeps a second at its end under the race detector.
	cmd.Env = append(append(os.Environ(), childVariable+"="+name, "GORACE=atexit_sleep_ms=0"), env...)
	cmd.Dir = t.TempDir()
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s", name, err, failed.String())
	}
	return string(out)
}

const install = "install PoCL (apt-get install pocl-opencl-icd ocl-icd-libopencl1), or set " + withoutOpenCL + "=1 to go without"

// device returns PoCL's device.
func device(t testing.TB) *opencl.Device {
	t.Helper()
	d, err := firstDevice("POCL")
	if err != nil {
		t.Fatalf("%v: %s", err, install)
	}
	return d
}

func firstDevice(suffix string) (*opencl.Device, error) { return deviceNamed(suffix, "") }

// deviceNamed returns the first device of a platform whose name has part in it.
func deviceNamed(suffix, part string) (*opencl.Device, error) {
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Platform().Suffix == suffix && strings.Contains(d.Name, part) {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no device %q of platform %s among %d", part, suffix, len(devices))
}

// open returns a context on PoCL's device, released at the end.
func open(t testing.TB) *opencl.Context {
	t.Helper()
	c, err := opencl.Open(device(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, c) })
	return c
}

func released(t testing.TB, o interface{ Release() error }) {
	t.Helper()
	if err := o.Release(); err != nil {
		t.Error(err)
	}
}

func queue(t testing.TB, c *opencl.Context) *opencl.Queue {
	t.Helper()
	q, err := c.NewQueue(c.Devices()[0], opencl.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, q) })
	return q
}

func buffer(t testing.TB, c *opencl.Context, size int) *opencl.Buffer {
	t.Helper()
	b, err := c.NewBuffer(opencl.ReadWrite, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, b) })
	return b
}

// sourceFile returns a file of testdata.
func sourceFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
