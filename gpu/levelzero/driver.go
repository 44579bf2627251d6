package levelzero

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// Driver is a Level Zero driver. It lives as long as the process.
type Driver struct {
	Version    string   // of the driver: "1.3.24595"
	APIVersion string   // that it implements: "1.3"
	Extensions []string // in the driver's order

	id  uintptr // ze_driver_handle_t
	ask queries
	env drivers.Environments

	variablesAtLoad func() []key.Pair // those of env.Loaded that the compiler obeys
}

// Drivers returns the drivers that the loader has. It loads them, which takes tens of
// milliseconds the first time. An error wraps ErrUnavailable where there is no
// loader, or no driver that finds a device.
func Drivers() ([]*Driver, error) {
	environAtLoad()
	drivers.IntelSettings.Loads()
	err := ze("zeInit").call(0)
	var ids []uintptr
	if err == nil {
		ids, err = queries{}.handles("zeDriverGet")
	}
	if err != nil {
		return nil, fmt.Errorf("list drivers: %w", unavailable(err))
	}
	all := make([]*Driver, len(ids))
	for i, id := range ids {
		all[i] = newDriver(id, queries{}, drivers.Environments{Loaded: environAtLoad(), Now: os.Environ})
	}
	return all, nil
}

func newDriver(id uintptr, ask queries, env drivers.Environments) *Driver {
	d := &Driver{id: id, ask: ask, env: env}
	if p, err := properties[driverProperties](ask.entry("zeDriverGetProperties"), stypeDriverProperties, id); err == nil {
		d.Version = fmt.Sprintf("%d.%d.%d", p.Version>>24, p.Version>>16&0xff, p.Version&0xffff)
	}
	v := new(uint32) // the major version in the upper 16 bits
	if err := ask.entry("zeDriverGetApiVersion").call(id, uintptr(unsafe.Pointer(v))); err == nil {
		d.APIVersion = fmt.Sprintf("%d.%d", *v>>16, *v&0xffff)
	}
	extensions, _ := list(ask.entry("zeDriverGetExtensionProperties"), extension{}, id) // no answer: it has none
	for i := range extensions {
		d.Extensions = append(d.Extensions, dl.Text(extensions[i].name[:]))
	}
	d.variablesAtLoad = sync.OnceValue(func() []key.Pair { return variables.Of(env.Loaded) })
	return d
}

// Handle returns the ze_driver_handle_t.
func (d *Driver) Handle() uintptr { return d.id }

// Has reports whether the driver offers an extension.
func (d *Driver) Has(extension string) bool { return slices.Contains(d.Extensions, extension) }

// Devices returns the driver's root devices; none is not an error.
func (d *Driver) Devices() ([]*Device, error) {
	ids, err := d.ask.handles("zeDeviceGet", d.id)
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	return d.devices(ids)
}

func (d *Driver) devices(ids []uintptr) ([]*Device, error) {
	all := make([]*Device, len(ids))
	for i, id := range ids {
		var err error
		if all[i], err = d.device(id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Devices returns the root devices of all drivers, in the loader's order.
func Devices() ([]*Device, error) {
	all, err := Drivers()
	if err != nil {
		return nil, err
	}
	var devices []*Device
	for _, d := range all {
		own, err := d.Devices()
		if err != nil {
			return nil, err
		}
		devices = append(devices, own...)
	}
	return devices, nil
}

// Entries are what is known of the drivers that an application has loaded, by who stands between the two.
type Entries struct {
	// Queries are the addresses of QueryNames. For zero the loader is asked.
	Queries [len(QueryNames)]uintptr

	// Environ is the environment, as os.Environ has it, in which the drivers were loaded.
	Environ []string
}

// maxParts bounds how deep a device is looked for among parts of parts.
const maxParts = 4

// Find asks what the device of a handle is, which the application has. What is returned
// is to be asked what it is; everything else of it goes through the loader.
func Find(e Entries, handle uintptr) (*Device, error) {
	ask := queries(e.Queries)
	ids, err := ask.handles("zeDriverGet")
	if err != nil {
		return nil, fmt.Errorf("find device: %w", err)
	}
	for _, id := range ids {
		devices, err := ask.handles("zeDeviceGet", id)
		if err != nil || !holds(ask, devices, handle, maxParts) {
			continue
		}
		// C code may set variables.
		return newDriver(id, ask, drivers.Environments{Loaded: e.Environ, Now: dl.Environ}).device(handle)
	}
	return nil, fmt.Errorf("find device: %w: no driver has it", ErrArgument)
}

// holds reports whether a device is one of others, or a part of one.
func holds(ask queries, devices []uintptr, handle uintptr, depth int) bool {
	if slices.Contains(devices, handle) || depth == 0 {
		return depth > 0
	}
	return slices.ContainsFunc(devices, func(d uintptr) bool {
		parts, err := ask.handles("zeDeviceGetSubDevices", d)
		return err == nil && len(parts) > 0 && holds(ask, parts, handle, depth-1)
	})
}

// variables are the environment variables that a driver obeys while it compiles: those of Intel's, the
// only kind that there is, and what switches debugging on, for which it compiles otherwise.
var variables = func() drivers.Rules {
	r := drivers.Intel
	r.Prefixes = append(slices.Clone(r.Prefixes), "ZET_ENABLE_PROGRAM_")
	return r
}()

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
