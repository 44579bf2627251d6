//go:build !nogpu && linux

package driver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
)

// The assembler's verdict is a *kernstash.BuildError, and a driver that takes PTX alone makes no
// machine code anywhere; all else may be another machine's to do. libcuda is the fake of gpu/cuda, which has devices of capability 7.0 and puts PTX behind an ELF
// header.
func TestAssemble(t *testing.T) {
	if os.Getenv("KERNSTASH_TEST_NVIDIA") == "1" {
		t.Skip("the driver is NVIDIA's, not the fake one: TestNVIDIAFinish tests it")
	}
	library := filepath.Join(t.TempDir(), "libcuda.so.1")
	out, err := exec.Command("cc", "-std=c11", "-O1", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1",
		"-o", library, "../../../cuda/testdata/fake.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := dl.Open(library); err != nil { // whoever opens libcuda.so.1 from here on has this one
		t.Fatal(err)
	}
	const ptx = ".version 7.0\n.target sm_70\n"
	const alone = "CUDA_FORCE_PTX_JIT"
	if os.Getenv(alone) == "1" {
		if _, err := assemble([]byte(ptx), "7.0"); !errors.Is(err, kernstash.ErrNotCacheable) || errors.Is(err, ErrElsewhere) {
			t.Errorf("where the driver takes PTX alone: %v", err)
		}
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestAssemble$")
	again.Env = append(os.Environ(), alone+"=1")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	cubin, err := assemble([]byte(ptx), "7.0")
	if err != nil || !strings.HasPrefix(string(cubin), "\x7fELF") || !strings.Contains(string(cubin), ptx) {
		t.Errorf("%q, %v", cubin, err)
	}
	var refused *kernstash.BuildError
	if _, err := assemble([]byte(ptx+"BROKEN"), "7.0"); !errors.As(err, &refused) || errors.Is(err, ErrElsewhere) || refused.Log == "" {
		t.Errorf("of broken PTX: %v", err)
	}
	for what, c := range map[string]struct{ ptx, capability string }{
		"no PTX": {"", "7.0"}, "another device": {ptx, "9.0"}, "no capability": {ptx, ""},
	} {
		if _, err := assemble([]byte(c.ptx), c.capability); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
