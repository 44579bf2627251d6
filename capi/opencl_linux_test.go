package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// A device asked for through C is the one that the other front ends know.
func TestOpenCLDevicesAreThoseOfTheOtherFrontEnds(t *testing.T) {
	t.Parallel()
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil || len(devices) == 0 {
		t.Fatal(devices, err)
	}
	var want []string
	for _, d := range devices {
		id, err := d.Identify()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, id.Digest().Dir())
	}
	h := newHost(t, cbuild.Library(t).Compile(t, []string{"testdata/opencl.c"}, "-lOpenCL"))
	h.env = append(os.Environ(), h.env...)
	if diff := cmp.Diff(want, strings.Fields(h.run("devices"))); diff != "" {
		t.Errorf("devices (-Go +C):\n%s", diff)
	}
}

// Likewise on Intel's driver, which is told by its environment that there is a device.
func TestOpenCLDevicesOfIntel(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpenCLDevicesAreThoseOfTheOtherFrontEnds$", "-test.v")
	cmd.Env = append(os.Environ(), "OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1",
		"SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
	leftover, _ := filepath.Glob("*.aub") // what the driver does in the place of a device
	for _, path := range leftover {
		os.Remove(path)
	}
}

// saxpy is a run of the example's cached form.
type saxpy struct {
	t            *testing.T
	program, dir string
}

// run returns what it prints. The driver's own cache is another one each time.
func (s *saxpy) run(env ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.program)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "KERNSTASH_DIR="+filepath.Join(s.dir, "root"), "POCL_CACHE_DIR="+s.t.TempDir()), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v\n%s%s", err, out, errs.Bytes())
	}
	return string(out)
}

const (
	builtOnce = "built\ny[10] = 21\n"
	restored  = "restored\ny[10] = 21\n"
)

func newSaxpy(t *testing.T, flags ...string) *saxpy {
	t.Helper()
	program := cbuild.Library(t).Compile(t, []string{"../examples/c/saxpy_cached.c"}, append(flags, "-lOpenCL")...)
	return &saxpy{t: t, program: program, dir: t.TempDir()}
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The example builds at its first start and restores at all others, and a variable
// that the driver's compiler obeys is part of the key.
func TestExampleRestoresItsProgram(t *testing.T) {
	t.Parallel()
	s := newSaxpy(t)
	expect(t, "first", s.run(), builtOnce)
	expect(t, "second", s.run(), restored)
	expect(t, "with a variable that the compiler obeys", s.run("POCL_EXTRA_BUILD_FLAGS=-DX"), builtOnce)
	expect(t, "again", s.run(), restored)
	expect(t, "switched off", s.run("KERNSTASH_DISABLE=1"), builtOnce)
}

// What the driver refuses is built, and replaced.
func TestExampleWithARefusedBinary(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	s := newSaxpy(t)
	refusing := cbuild.Library(t).Compile(t, []string{"../examples/c/saxpy_cached.c", "testdata/refusing.c"}, "-lOpenCL", "-ldl")
	expect(t, "first", s.run(), builtOnce)
	normal := s.program
	s.program = refusing
	expect(t, "refused", s.run(), builtOnce)
	s.program = normal
	expect(t, "after it", s.run(), restored)
}

// The same source compiles with the stub, and works without the library.
func TestExampleWithTheStub(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	s := newSaxpy(t)
	s.program = stubbed(t, "../examples/c/saxpy_cached.c", "-lOpenCL")
	expect(t, "not installed", s.run(), builtOnce)
	expect(t, "first", s.run("LD_LIBRARY_PATH="+lib.Dir), builtOnce)
	expect(t, "second", s.run("LD_LIBRARY_PATH="+lib.Dir), restored)
}

// On Intel's driver, which compiles without hardware; what it computes there is
// nothing.
func TestExampleOnIntel(t *testing.T) {
	t.Parallel()
	s := newSaxpy(t)
	intel := []string{
		"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd",
		"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp",
	}
	for _, want := range []string{"built", "restored", "restored"} {
		got, _, _ := strings.Cut(s.run(intel...), "\n")
		expect(t, "Intel", got, want)
	}
}
