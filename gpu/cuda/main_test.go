//go:build !nogpu

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/dl"
)

// NVRTC is the real one. The driver is testdata/fake.c, which this binary is
// started again with, except where nvidiaVariable is 1: then the tests of a real
// driver run, and no others.
const (
	nvidiaVariable = "KERNSTASH_TEST_NVIDIA"
	fakeVariable   = "KERNSTASH_TEST_FAKE_CUDA" // the directory of the libraries
	childVariable  = "KERNSTASH_TEST_CHILD"
	rootVariable   = "KERNSTASH_TEST_ROOT"
)

// children are what this test binary does when it is started again with
// childVariable set: whatever needs a fresh process. Each writes its result to
// standard output.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	switch name := os.Getenv(childVariable); {
	case name != "":
		os.Exit(runChild(name))
	case onNVIDIA(), os.Getenv(fakeVariable) != "":
		os.Exit(m.Run())
	}
	os.Exit(withFake())
}

func onNVIDIA() bool { return os.Getenv(nvidiaVariable) == "1" }

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

// withFake starts the tests with the fake driver in the loader's way. Beside it is
// what the driver's compiler would be.
func withFake() int {
	dir, err := os.MkdirTemp("", "kernstash-cuda-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	err = errors.Join(
		buildFake(filepath.Join(dir, "full"), "580.1"), buildFake(filepath.Join(dir, "old"), "390.1", "-DOLD"),
		buildFake(filepath.Join(dir, "nameless"), "1.1"))
	self, failed := os.Executable()
	if err = errors.Join(err, failed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), fakeVariable+"="+dir, libraryPath(filepath.Join(dir, "full")))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func libraryPath(dir string) string {
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		dir += ":" + old
	}
	return "LD_LIBRARY_PATH=" + dir
}

// buildFake makes libcuda.so.1, as a link to the file of a version, in a directory.
func buildFake(dir, version string, flags ...string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	library := filepath.Join(dir, "libcuda.so."+version)
	args := append([]string{
		"-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread",
		"-Wl,-soname,libcuda.so.1", "-Wl,--build-id=sha1", "-o", library, filepath.Join("testdata", "fake.c"),
	}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	compiler := []byte("what compiles PTX in release " + version)
	return errors.Join(os.Symlink(library, filepath.Join(dir, "libcuda.so.1")),
		os.WriteFile(filepath.Join(dir, "libnvidia-ptxjitcompiler.so."+version), compiler, 0o600))
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
	cmd.Env = append(append(os.Environ(), childVariable+"="+name), env...)
	cmd.Dir = t.TempDir()
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s", name, err, failed.String())
	}
	return string(out)
}

// fake says that a test needs the fake driver.
func fake(t testing.TB) {
	t.Helper()
	if onNVIDIA() {
		t.Skip("is for the driver that fails when it is told to")
	}
}

func fakeFunction(t testing.TB, name string) dl.Func {
	t.Helper()
	lib, err := dl.Open("libcuda.so.1")
	if err != nil {
		t.Fatal(err)
	}
	f, ok := lib.Symbol(name)
	if !ok {
		t.Fatalf("the driver is not the fake one: it has no %s", name)
	}
	return f
}

// device returns the first GPU.
func device(t testing.TB) *cuda.Device {
	t.Helper()
	d, err := cuda.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return d[0]
}

// open returns the primary context of the first GPU, released at the end.
func open(t testing.TB) *cuda.Context {
	t.Helper()
	c, err := cuda.Open(device(t))
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

// nvrtc returns the real NVRTC.
func nvrtc(t testing.TB) *rtc.Library {
	t.Helper()
	l, err := rtc.Open(rtc.NVRTC, os.Getenv("KERNSTASH_TEST_NVRTC"))
	if err != nil {
		t.Fatalf("%v: install NVRTC (apt-get install libnvrtc11.2, component non-free)", err)
	}
	return l
}

// openCached returns a cached context over a root; done ends both.
func openCached(t testing.TB, root string, o cuda.CachedOptions) (cache *kernstash.Cache, x *cuda.Cached, done func()) {
	t.Helper()
	cache, err := kernstash.Open(kernstash.Options{Dir: root, CloseTimeout: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if o.NVRTC == nil {
		o.NVRTC = nvrtc(t)
	}
	if x, err = cuda.NewContextWith(cache, o, device(t)); err != nil {
		t.Fatal(err)
	}
	return cache, x, func() {
		t.Helper()
		if err := errors.Join(x.Close(), cache.Close()); err != nil {
			t.Error(err)
		}
	}
}

// privateDir returns a directory that a cache takes for its root.
func privateDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
