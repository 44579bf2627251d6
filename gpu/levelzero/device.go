package levelzero

import (
	"fmt"

	"github.com/kernstash/kernstash/internal/dl"
)

// DeviceType is the kind of a device, ze_device_type_t.
type DeviceType uint32

// The kinds of device.
const (
	GPU  DeviceType = 1
	CPU  DeviceType = 2
	FPGA DeviceType = 3
	MCA  DeviceType = 4 // a memory copy accelerator
	NPU  DeviceType = 5 // ZE_DEVICE_TYPE_VPU
)

func (t DeviceType) String() string {
	if names := [...]string{"", "GPU", "CPU", "FPGA", "MCA", "NPU"}; t > 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Device is a root device, or a part of one. What it says of itself was asked once,
// when it was listed. It lives as long as the process.
type Device struct {
	Name               string
	Type               DeviceType
	VendorID, DeviceID uint32
	SPIRV              string // the latest version that the driver takes: "1.2"; "" for none
	Limits             Limits

	driver     *Driver
	parent     *Device // nil for a root device
	id         uintptr // ze_device_handle_t
	properties *deviceProperties
}

// Limits are what a device can hold; sizes are bytes.
type Limits struct {
	ComputeUnits int    // execution units
	Group        int    // work-items in a group
	GroupSize    [3]int // work-items in a group, per dimension
	LocalMemory  int
	Allocation   uint64 // the largest
}

func (d *Driver) device(id uintptr) (*Device, error) {
	p, err := properties[deviceProperties](d.ask.entry("zeDeviceGetProperties"), stypeDeviceProperties, id)
	if err != nil {
		return nil, fmt.Errorf("ask device: %w", err)
	}
	own := &Device{
		Name: dl.Text(p.name[:]), Type: DeviceType(p.Type), VendorID: p.VendorID, DeviceID: p.DeviceID,
		Limits: Limits{
			ComputeUnits: int(p.Slices * p.SubslicesPerSlice * p.EUsPerSubslice),
			Allocation:   p.MaxAllocation,
		},
		driver: d, id: id, properties: p,
	}
	m, err := properties[moduleProperties](d.ask.entry("zeDeviceGetModuleProperties"), stypeDeviceModuleProperties, id)
	if err == nil && m.spirv != 0 {
		own.SPIRV = fmt.Sprintf("%d.%d", m.spirv>>16, m.spirv&0xffff)
	}
	c, err := properties[computeProperties](d.ask.entry("zeDeviceGetComputeProperties"), stypeDeviceComputeProperties, id)
	if err == nil {
		own.Limits.Group, own.Limits.LocalMemory = int(c.MaxTotalGroupSize), int(c.MaxLocalMemory)
		for i, n := range c.MaxGroupSize {
			own.Limits.GroupSize[i] = int(n)
		}
	}
	return own, nil
}

// Driver returns the device's driver.
func (d *Device) Driver() *Driver { return d.driver }

// Parent returns what the device is a part of; nil for a root device, and for one that
// was not listed with SubDevices.
func (d *Device) Parent() *Device { return d.parent }

// Handle returns the ze_device_handle_t.
func (d *Device) Handle() uintptr { return d.id }

// SubDevices returns the parts of the device; none is not an error.
func (d *Device) SubDevices() ([]*Device, error) {
	ids, err := d.driver.ask.handles("zeDeviceGetSubDevices", d.id)
	if err != nil {
		return nil, fmt.Errorf("list parts of %s: %w", d.Name, err)
	}
	parts, err := d.driver.devices(ids)
	for _, p := range parts {
		p.parent = d
	}
	return parts, err
}
