package opencl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// DeviceType is a set of kinds of device, the bits of cl_device_type.
type DeviceType uint64

// The kinds of device.
const (
	DefaultType DeviceType = 1 << 0
	CPU         DeviceType = 1 << 1
	GPU         DeviceType = 1 << 2
	Accelerator DeviceType = 1 << 3
	AnyType     DeviceType = 0xFFFFFFFF
)

func (t DeviceType) String() string {
	if t == AnyType {
		return "any"
	}
	var names []string
	for i, name := range []string{"default", "CPU", "GPU", "accelerator"} {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// Device is a root device, or a part of one. What it says of itself was asked
// once, when it was listed. Only parts are released.
type Device struct {
	Name, Vendor, Version, Driver, CVersion string
	ILVersion                               string // "" where the driver takes no SPIR-V
	Type                                    DeviceType
	Extensions                              []string // in the driver's order
	Limits                                  Limits

	platform *Platform
	parent   *Device // nil for a root device
	object
}

// Limits are what a device can hold; sizes are bytes.
type Limits struct {
	ComputeUnits   int
	WorkGroup      int    // work-items in a group
	WorkItems      [3]int // work-items in a group, per dimension
	AddressBits    int
	GlobalMemory   uint64
	LocalMemory    uint64
	Allocation     uint64 // the largest buffer
	Images         bool
	ImageWidth     int
	ImageHeight    int
	ClockMegahertz int
}

// newDevice asks a device what it is, and what it can hold.
func newDevice(id cl.DeviceID, p *Platform) *Device {
	d := newNamed(id, p)
	num, l := d.number, &d.Limits
	l.ComputeUnits, l.WorkGroup = int(num(cl.DeviceMaxComputeUnits)), int(num(cl.DeviceMaxWorkGroupSize))
	l.WorkItems = cl.Sizes(p.ask.Device(id, cl.DeviceMaxWorkItemSizes))
	l.GlobalMemory, l.LocalMemory = num(cl.DeviceGlobalMemSize), num(cl.DeviceLocalMemSize)
	l.Allocation, l.Images = num(cl.DeviceMaxMemAllocSize), num(cl.DeviceImageSupport) != 0
	l.ImageWidth, l.ImageHeight = int(num(cl.DeviceImage2DMaxWidth)), int(num(cl.DeviceImage2DMaxHeight))
	l.ClockMegahertz = int(num(cl.DeviceMaxClockFrequency))
	return d
}

// newNamed asks a device what it is. Of its limits it asks only what decides how code is
// made for it: some drivers ask the hardware for others.
func newNamed(id cl.DeviceID, p *Platform) *Device {
	d := &Device{platform: p}
	d.object.set("device", uintptr(id), "clReleaseDevice")
	str := func(param uint32) string { return cl.Text(p.ask.Device(id, param)) }
	d.Name, d.Vendor, d.Version = str(cl.DeviceNameInfo), str(cl.DeviceVendor), str(cl.DeviceVersion)
	d.Driver, d.CVersion = str(cl.DriverVersion), str(cl.DeviceOpenCLCVersion)
	d.Type, d.Extensions = DeviceType(d.number(cl.DeviceTypeInfo)), strings.Fields(str(cl.DeviceExtensions))
	d.Limits.AddressBits = int(d.number(cl.DeviceAddressBits))
	// The parameter exists from OpenCL 2.1 on, and with cl_khr_il_program.
	d.ILVersion = str(cl.DeviceILVersion)
	return d
}

// number returns a parameter of the device's that is one; 0 where it tells none.
func (d *Device) number(param uint32) uint64 {
	n, _ := cl.Number(d.platform.ask.Device(d.id(), param))
	return n
}

// Platform returns the device's platform.
func (d *Device) Platform() *Platform { return d.platform }

// Parent returns what the device is a part of; nil for a root device.
func (d *Device) Parent() *Device { return d.parent }

// Has reports whether the device offers an extension.
func (d *Device) Has(extension string) bool { return slices.Contains(d.Extensions, extension) }

// id returns the handle, zero for a released part: drivers answer that with CL_INVALID_DEVICE.
func (d *Device) id() cl.DeviceID { return cl.DeviceID(d.Handle()) }

// SubDevicesEqually divides the device into parts of units compute units each.
// The caller releases the parts.
func (d *Device) SubDevicesEqually(units int) ([]*Device, error) {
	return d.partition(cl.DevicePartitionEqually, uintptr(units), 0)
}

// SubDevicesByCounts divides the device into parts of the given numbers of
// compute units. The caller releases the parts.
func (d *Device) SubDevicesByCounts(units ...int) ([]*Device, error) {
	properties := []uintptr{cl.DevicePartitionByCounts}
	for _, n := range units {
		properties = append(properties, uintptr(n))
	}
	return d.partition(append(properties, cl.DevicePartitionByCountsEnd, 0)...)
}

func (d *Device) partition(properties ...uintptr) ([]*Device, error) {
	h, err := d.get()
	var ids []cl.DeviceID
	if err == nil {
		ids, err = cl.CreateSubDevices(cl.DeviceID(h), properties)
	}
	if err != nil {
		return nil, fmt.Errorf("divide %s: %w", d.Name, err)
	}
	parts := make([]*Device, len(ids))
	for i, id := range ids {
		parts[i] = newDevice(id, d.platform)
		parts[i].parent = d
	}
	return parts, nil
}

// rest waits until the driver touches nothing more of what is released next.
func (d *Device) rest() {
	if driver := d.platform.deferrer(); driver != nil {
		driver.Rest()
	}
}

// Release gives a part of a device back. It does nothing to a root device.
func (d *Device) Release() error {
	if d.parent == nil {
		return nil
	}
	return d.handle.Release(func(h uintptr) error {
		d.rest()
		return cl.Status("clReleaseDevice", h)
	})
}
