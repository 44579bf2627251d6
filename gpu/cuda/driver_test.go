//go:build !nogpu

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/cuda"
)

func init() {
	children["devices"] = devicesChild
	children["identity"] = identityChild
	children["old"] = oldChild
}

// devicesChild prints what is wrong with the driver.
func devicesChild() error {
	_, err := cuda.Devices()
	if err == nil {
		return errors.New("there are devices")
	}
	_, again := cuda.Adopt(1)
	fmt.Println(errors.Is(err, cuda.ErrNoDriver), errors.Is(again, cuda.ErrNoDriver), err)
	return nil
}

func TestDriverThatIsNotThere(t *testing.T) {
	fake(t)
	t.Parallel()
	full := libraryPath(filepath.Join(os.Getenv(fakeVariable), "full"))
	tests := []struct {
		name string
		env  []string
		want []string
	}{
		{"no library", []string{"LD_LIBRARY_PATH=/nonexistent"}, []string{"libcuda.so.1", "install NVIDIA's driver"}},
		{"no GPU", []string{full, "FAKE_CUDA_FAIL=cuInit=100"}, []string{"cuInit: CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"}},
		{"the toolkit's stub", []string{full, "FAKE_CUDA_FAIL=cuInit=34"}, []string{"CUDA_ERROR_STUB_LIBRARY", "LD_LIBRARY_PATH"}},
		{"another kernel module", []string{full, "FAKE_CUDA_FAIL=cuInit=803"}, []string{"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"}},
		{"no kernel module", []string{full, "FAKE_CUDA_FAIL=cuInit=999"}, []string{"CUDA_ERROR_UNKNOWN", "/dev/nvidia"}},
		{"an unknown code", []string{full, "FAKE_CUDA_FAIL=cuInit=12345"}, []string{"cuInit: CUDA error 12345"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := child(t, "devices", tt.env...)
			for _, want := range append(tt.want, "true true ") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}
		})
	}
}

func TestDevicesTellWhatTheyAre(t *testing.T) {
	fake(t)
	d := device(t)
	want := cuda.Limits{
		Multiprocessors: 1024, WarpSize: 32, BlockThreads: 1024, Block: [3]int{1024, 1024, 1024}, Grid: [3]int{1024, 1024, 1024},
		SharedMemory: 1024, SharedMemoryMax: 1024, Registers: 1024, Memory: 1 << 30, ClockKilohertz: 1024,
	}
	if diff := cmp.Diff(want, d.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if d.Name != "Fake GPU" || d.PCI != "0000:01:00.0" || d.Ordinal() != 0 || d.UUID != "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" {
		t.Errorf("device %+v", d)
	}
	if c := d.Capability; c.String() != "7.0" || c.Arch() != "sm_70" || c.VirtualArch() != "compute_70" {
		t.Errorf("capability %v, %s, %s", c, c.Arch(), c.VirtualArch())
	}
	driver, err := cuda.TheDriver()
	if err != nil || driver.String() != "580.1 (CUDA 11.8)" {
		t.Errorf("driver %v, %v", driver, err)
	}
}

func TestVersionIsThatOfTheLibrarysFile(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/usr/lib/libcuda.so.580.95.05": "580.95.05", "/usr/lib/wsl/lib/libcuda.so.1.1": "", "/x/libcuda.so.1": "", "/x/libcuda.so": "",
	} {
		if got := cuda.VersionOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// identityChild prints what the first device's identity is made of.
func identityChild() error {
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	id, err := d[0].Identify()
	if err != nil {
		fmt.Println("error:", err)
		return nil
	}
	var compiler []string
	for _, p := range id.Compiler {
		compiler = append(compiler, p.Name)
	}
	fmt.Println(id, id.Traits, compiler, id.Digest())
	return nil
}

// TestIdentity: compute capability, driver and its compiler make the identity, the
// GPU's name does not; where the compiler is not found there is none.
func TestIdentity(t *testing.T) {
	fake(t)
	t.Parallel()
	dir := os.Getenv(fakeVariable)
	full := libraryPath(filepath.Join(dir, "full"))
	base := child(t, "identity", full)
	want := "NVIDIA CUDA driver / sm_70 / 11.8 / 580.1 [{compute capability 7.0}] [libcuda.so.1 libnvidia-ptxjitcompiler.so.580.1]"
	if !strings.HasPrefix(base, want) {
		t.Errorf("identity %q, want %q", base, want)
	}
	if again := child(t, "identity", full); again != base {
		t.Errorf("another process: %q, %q", again, base)
	}
	if other := child(t, "identity", full, "FAKE_CUDA_SM=75"); other == base || !strings.Contains(other, "7.5") {
		t.Errorf("another capability: %q", other)
	}
	if other := child(t, "identity", libraryPath(filepath.Join(dir, "old"))); other == base || !strings.Contains(other, "390.1") {
		t.Errorf("another driver: %q", other)
	}
	// A driver whose file does not tell its version, and no compiler to be found.
	alone := filepath.Join(t.TempDir(), "alone")
	if err := buildFake2(alone, dir); err != nil {
		t.Fatal(err)
	}
	if out := child(t, "identity", libraryPath(alone)); !strings.Contains(out, "error:") || !strings.Contains(out, "libnvidia-ptxjitcompiler") {
		t.Errorf("without a compiler: %q", out)
	}
}

// buildFake2 copies a driver to where nothing is beside it.
func buildFake2(to, dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "nameless", "libcuda.so.1.1"))
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "libcuda.so.1"), b, 0o600)
}

// oldChild uses a driver that lacks entry points.
func oldChild() error {
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	c, err := cuda.Open(d[0])
	if err != nil {
		return err
	}
	m, err := c.LoadModule([]byte(".version 6.0\n.target sm_70\n.entry params_4_8() {}"))
	if err != nil {
		return err
	}
	_, err = m.KernelNames()
	fmt.Println(errors.Is(err, cuda.ErrMissing), d[0].UUID == "", err)
	k, err := m.Kernel("params_4_8")
	if err != nil {
		return err
	}
	_, told := k.Params()
	// The driver does not tell what the kernel takes, so that is the caller's matter.
	return errors.Join(k.Launch(nil, []int{1}, []int{1}, int32(1), uint64(2)), m.Release(), c.Release(), when(told, "it tells parameters"))
}

func when(is bool, text string) error {
	if is {
		return errors.New(text)
	}
	return nil
}

// TestOldDriver: what an old driver lacks switches off only what needs it, and the
// error names the entry point and the library's version.
func TestOldDriver(t *testing.T) {
	fake(t)
	t.Parallel()
	out := child(t, "old", libraryPath(filepath.Join(os.Getenv(fakeVariable), "old")))
	for _, want := range []string{"true true ", "cuModuleGetFunctionCount: ", "libcuda.so.1 of CUDA 11.8"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %q", want, out)
		}
	}
}

func TestVariablesThatTheDriverObeysAreInTheKey(t *testing.T) {
	fake(t)
	l := cuda.NewLinker(open(t))
	before, err := l.Variables(0)
	if err != nil || len(before) != 0 {
		t.Fatalf("variables %v, %v", before, err)
	}
	t.Setenv("CUDA_CACHE_DISABLE", "1") // says nothing about code
	if now, err := l.Variables(0); err != nil || len(now) != 0 {
		t.Errorf("variables %v, %v", now, err)
	}
	if out := child(t, "variables", "CUDA_FORCE_PTX_JIT=0"); out != "[{CUDA_FORCE_PTX_JIT 0}] <nil>\n" {
		t.Errorf("set at the start: %q", out)
	}
	out := child(t, "variables", "KERNSTASH_TEST_SET=CUDA_FORCE_PTX_JIT")
	if !strings.Contains(out, "[{CUDA_FORCE_PTX_JIT 1}] environment variables") {
		t.Errorf("set later: %q", out)
	}
}

func init() { children["variables"] = variablesChild }

func variablesChild() error {
	d, err := cuda.Devices()
	if err != nil {
		return err
	}
	c, err := cuda.Open(d[0])
	if err != nil {
		return err
	}
	if name := os.Getenv("KERNSTASH_TEST_SET"); name != "" {
		os.Setenv(name, "1")
	}
	pairs, err := cuda.NewLinker(c).Variables(0)
	fmt.Println(pairs, err)
	return nil
}
