//go:build !nogpu && linux

package levelzero

import (
	"errors"
	"strings"
	"testing"
	"unsafe"
)

// A function that an older loader lacks makes only the calls fail that need it.
func TestMissingEntry(t *testing.T) {
	t.Parallel()
	e := entry{name: "zeNoSuchFunction"}
	if err := e.call(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "zeNoSuchFunction") {
		t.Errorf("err = %v", err)
	}
	if _, err := e.create(); !errors.Is(err, ErrMissing) {
		t.Errorf("err = %v", err)
	}
}

// The sizes of C's structures on 64-bit machines, ze_api.h 1.8.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"ze_driver_properties_t", unsafe.Sizeof(driverProperties{}), 40},
		{"ze_device_properties_t", unsafe.Sizeof(deviceProperties{}), 368},
		{"ze_device_module_properties_t", unsafe.Sizeof(moduleProperties{}), 64},
		{"ze_device_compute_properties_t", unsafe.Sizeof(computeProperties{}), 88},
		{"ze_pci_ext_properties_t", unsafe.Sizeof(pciProperties{}), 48},
		{"ze_command_queue_group_properties_t", unsafe.Sizeof(queueGroup{}), 40},
		{"ze_kernel_properties_t", unsafe.Sizeof(kernelProperties{}), 96},
		{"ze_module_desc_t", unsafe.Sizeof(moduleDesc{}), 56},
		{"ze_module_program_exp_desc_t", unsafe.Sizeof(programDesc{}), 56},
		{"ze_module_constants_t", unsafe.Sizeof(moduleConstants{}), 24},
		{"ze_driver_extension_properties_t", unsafe.Sizeof(extension{}), 260},
	} {
		if c.got != c.want {
			t.Errorf("%s has %d bytes, not %d", c.name, c.got, c.want)
		}
	}
}
