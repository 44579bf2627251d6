//go:build !nogpu

package opencl_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/dl"
)

// entries returns what stands between an application and a driver know of it:
// the functions in the driver's dispatch table, which its objects begin with
// (cl_icd.h: 0 is clGetPlatformIDs, 1 clGetPlatformInfo, 3 clGetDeviceInfo).
func entries(d *opencl.Device) opencl.DriverEntries {
	table := dl.Word(d.Platform().Handle())
	return opencl.DriverEntries{
		Platform:        d.Platform().Handle(),
		GetPlatformInfo: dl.Word(table + 1*8), GetDeviceInfo: dl.Word(table + 3*8),
		Environ: os.Environ(),
	}
}

// A device is the same, asked through a loader or beneath it.
func TestDeviceOfADriver(t *testing.T) {
	t.Parallel()
	want := device(t)
	driver, err := opencl.PlatformOf(entries(want))
	if err != nil {
		t.Fatal(err)
	}
	root, err := driver.Root(want.Handle())
	if err != nil || root != want.Handle() {
		t.Fatalf("root %#x, %v; want %#x", root, err, want.Handle())
	}
	got := driver.Device(root)
	wantID, err := want.Identify()
	if err != nil {
		t.Fatal(err)
	}
	gotID, err := got.Identify()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantID, gotID); diff != "" {
		t.Errorf("identity (-loader +driver):\n%s", diff)
	}
	if diff := cmp.Diff(want.Variables(), got.Variables()); diff != "" {
		t.Errorf("variables (-loader +driver):\n%s", diff)
	}
	if want.Kind() != got.Kind() {
		t.Errorf("kind %v, want %v", got.Kind(), want.Kind())
	}
}

func TestRootOfAPart(t *testing.T) {
	t.Parallel()
	whole := device(t)
	parts, err := whole.SubDevicesEqually(1)
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	driver, err := opencl.PlatformOf(entries(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if root, err := driver.Root(p.Handle()); err != nil || root != whole.Handle() {
			t.Errorf("root of a part is %#x, %v; want %#x", root, err, whole.Handle())
		}
		id, err := p.Identify()
		if err != nil {
			t.Fatal(err)
		}
		if wholeID, err := whole.Identify(); err != nil || id.Digest() != wholeID.Digest() {
			t.Errorf("a part is %v, the whole %v, %v", id, wholeID, err)
		}
		released(t, p)
	}
}

func TestNoDriver(t *testing.T) {
	t.Parallel()
	e := entries(device(t))
	e.GetDeviceInfo = 0
	if _, err := opencl.PlatformOf(e); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("err = %v, want ErrArgument", err)
	}
}
