//go:build !nogpu

package cl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

// platform returns the first platform. These tests fail where there is none,
// as those of package opencl do.
func platform(t *testing.T) PlatformID {
	t.Helper()
	if os.Getenv("KERNSTASH_TEST_NO_OPENCL") == "1" {
		t.Skip("OPENCL IS NOT TESTED: KERNSTASH_TEST_NO_OPENCL is set")
	}
	all, err := GetPlatformIDs()
	if err != nil || len(all) == 0 {
		t.Fatalf("no platform: %v: install PoCL (apt-get install pocl-opencl-icd ocl-icd-libopencl1)", err)
	}
	return all[0]
}

func TestMissingFunctionFailsAlone(t *testing.T) {
	platform(t)
	const none = "clKernstashNone"
	err := Status(none, 1, 2)
	if !errors.Is(err, ErrMissing) {
		t.Errorf("status: %v, want ErrMissing", err)
	}
	if _, err := Create(none, 1); !errors.Is(err, ErrMissing) {
		t.Errorf("create: %v, want ErrMissing", err)
	}
	if _, err := Info(none, 1, 1); !errors.Is(err, ErrMissing) {
		t.Errorf("info: %v, want ErrMissing", err)
	}
}

// TestInfoOfAnyLength asks for answers shorter and longer than the first guess.
func TestInfoOfAnyLength(t *testing.T) {
	p := platform(t)
	for _, param := range []uint32{PlatformName, PlatformExtensions} {
		b, err := Loader.Platform(p, param)
		if err != nil {
			t.Fatal(err)
		}
		f, err := functions.Find("clGetPlatformInfo")
		if err != nil {
			t.Fatal(err)
		}
		n, err := ask("clGetPlatformInfo", f, []uintptr{uintptr(p)}, param, nil)
		if err != nil || n != len(b) || bytes.IndexByte(b, 0) != n-1 {
			t.Errorf("parameter %#x: %d bytes, the driver says %d (%v): %q", param, len(b), n, err, b)
		}
	}
	if _, err := Loader.Platform(p, 0xFFFF); !errors.Is(err, InvalidValue) {
		t.Errorf("unknown parameter: %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("make kernel: %w", &Error{Call: "clCreateKernel", Code: -46})
	if !errors.Is(err, Code(-46)) || errors.Is(err, InvalidValue) {
		t.Error("an Error is its Code, and no other")
	}
	if got, want := err.Error(), "make kernel: clCreateKernel: CL_INVALID_KERNEL_NAME (-46)"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	for code, want := range map[Code]string{
		-1: "CL_DEVICE_NOT_FOUND", -19: "CL_KERNEL_ARG_INFO_NOT_AVAILABLE", -20: "status", -29: "status", -30: "CL_INVALID_VALUE",
		-58: "CL_INVALID_EVENT", -72: "CL_MAX_SIZE_RESTRICTION_EXCEEDED", -73: "status", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
	} {
		if got := code.String(); got != want {
			t.Errorf("code %d: %s, want %s", int32(code), got, want)
		}
	}
	if got, want := Code(-9999).Error(), "status (-9999)"; got != want {
		t.Errorf("unknown code %q, want %q", got, want)
	}
}
