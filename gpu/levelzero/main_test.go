//go:build !nogpu && linux

package levelzero_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/levelzero"
)

// These tests run on Intel's driver, which compiles for a product that is not there
// when its debug keys say so, and "finishes" launches without executing them. It writes
// .aub files into the working directory, a scratch one here.

const childVariable = "KERNSTASH_TEST_CHILD"

// children are what this test binary does when it is started again with childVariable
// set: whatever needs a fresh process. Each writes its result to standard output.
var children = map[string]func() error{}

// resultMark stands before a child's result: the driver writes to standard output, too.
const resultMark = "\nresult:"

var testdata string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if testdata, err = filepath.Abs("testdata"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if name := os.Getenv(childVariable); name != "" {
		testdata = os.Getenv(dataVariable)
		if err := children[name](); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			return 1
		}
		return 0
	}
	// The driver reads them when it is loaded, at the first call; os.Setenv reaches C.
	for _, v := range without {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	dir, err := os.MkdirTemp("", "kernstash-levelzero-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

const dataVariable = "KERNSTASH_TEST_DATA"

// without is the environment of the driver without hardware.
var without = []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"}

// child starts this binary again as a child, with more variables, in a scratch
// directory, and returns its result.
func child(t testing.TB, name string, env ...string) string {
	t.Helper()
	out, err := tryChild(t, name, env...)
	if err != nil {
		t.Fatalf("child %s: %v", name, err)
	}
	return out
}

func tryChild(t testing.TB, name string, env ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), childVariable+"="+name, dataVariable+"="+testdata), env...)
	cmd.Dir = t.TempDir()
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	_, result, _ := strings.Cut(string(out), resultMark)
	if err != nil {
		return result, fmt.Errorf("%w\n%s", err, failed.String())
	}
	return result, nil
}

const install = "apt-get install intel-opencl-icd libze1"

func firstDevice() (*levelzero.Device, error) {
	devices, err := levelzero.Devices()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, install)
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("no device: %s", install)
	}
	return devices[0], nil
}

func device(t testing.TB) *levelzero.Device {
	t.Helper()
	d, err := firstDevice()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open returns a context, released at the end.
func open(t testing.TB) *levelzero.Context {
	t.Helper()
	c, err := levelzero.Open(device(t))
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

// spirv returns a module of testdata.
func spirv(t testing.TB, name string) []byte {
	t.Helper()
	b, err := readSPIRV(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readSPIRV(name string) ([]byte, error) {
	if name == "scale" {
		return os.ReadFile(filepath.Join(testdata, "../../opencl/testdata/scale.spv"))
	}
	return os.ReadFile(filepath.Join(testdata, name+".spv"))
}

// build makes a module, released at the end.
func build(t testing.TB, c *levelzero.Context, desc levelzero.ModuleDesc) *levelzero.Module {
	t.Helper()
	m, err := c.NewModule(c.Devices()[0], desc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, m) })
	return m
}
