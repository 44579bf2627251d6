package ze

import (
	"bytes"
	"sync"
	"unsafe"
)

// Handles of what lives as long as the process.
type (
	DriverID uintptr // ze_driver_handle_t
	DeviceID uintptr // ze_device_handle_t
)

// The values of ze_structure_type_t that are used here, ze_api.h.
const (
	stypeDriverProperties        = 0x1
	stypeDeviceProperties        = 0x3
	stypeDeviceComputeProperties = 0x4
	stypeDeviceModuleProperties  = 0x5
	stypeQueueGroupProperties    = 0x6
	stypeContextDesc             = 0xd
	stypeCommandQueueDesc        = 0xe
	stypeCommandListDesc         = 0xf
	stypeEventPoolDesc           = 0x10
	stypeEventDesc               = 0x11
	stypeDeviceMemAllocDesc      = 0x15
	stypeHostMemAllocDesc        = 0x16
	stypeModuleDesc              = 0x1b
	stypeModuleProperties        = 0x1c
	stypeKernelDesc              = 0x1d
	stypeKernelProperties        = 0x1e
	stypePCIExtProperties        = 0x10008
	stypeDeviceIPVersionExt      = 0x1000f
	stypeModuleProgramExpDesc    = 0x20002
)

// header is what every structure of the API begins with.
type header struct {
	stype uint32
	next  unsafe.Pointer
}

// Queries are the functions that ask what drivers and devices are.
type Queries struct {
	driverGet, deviceGet, deviceGetSubDevices                     *entry
	driverGetProperties, driverGetAPIVersion, driverGetExtensions *entry
	deviceGetProperties, deviceGetModuleProperties                *entry
	deviceGetComputeProperties, devicePciGetProperties            *entry
}

// QueryNames are the functions that Queries are made of, in the order of At's
// addresses.
var QueryNames = [...]string{
	"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices",
	"zeDriverGetProperties", "zeDriverGetApiVersion", "zeDriverGetExtensionProperties",
	"zeDeviceGetProperties", "zeDeviceGetModuleProperties", "zeDeviceGetComputeProperties", "zeDevicePciGetPropertiesExt",
}

// At returns queries by the addresses of their functions, in the order of
// QueryNames; the loader is asked for what is zero.
func At(addrs [len(QueryNames)]uintptr) *Queries {
	var e [len(QueryNames)]*entry
	for i, name := range QueryNames {
		e[i] = at(name, addrs[i])
	}
	return &Queries{e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9]}
}

// Loader returns queries that ask through the loader.
var Loader = sync.OnceValue(func() *Queries { return At([len(QueryNames)]uintptr{}) })

// DriverProperties is ze_driver_properties_t.
type DriverProperties struct {
	header
	UUID    [16]byte
	Version uint32
}

// DriverProperties asks for a driver's properties.
func (q *Queries) DriverProperties(d DriverID) (*DriverProperties, error) {
	p := &DriverProperties{header: header{stype: stypeDriverProperties}}
	return p, q.driverGetProperties.call(uintptr(d), uintptr(unsafe.Pointer(p)))
}

// APIVersion returns the version of the API that a driver implements: the major one
// in the upper 16 bits, the minor one in the lower.
func (q *Queries) APIVersion(d DriverID) (uint32, error) {
	v := new(uint32)
	err := q.driverGetAPIVersion.call(uintptr(d), uintptr(unsafe.Pointer(v)))
	return *v, err
}

// extension is ze_driver_extension_properties_t.
type extension struct {
	name [256]byte
	_    uint32 // version
}

// Extensions returns the names of a driver's extensions, in its order.
func (q *Queries) Extensions(d DriverID) ([]string, error) {
	n := new(uint32)
	if err := q.driverGetExtensions.call(uintptr(d), uintptr(unsafe.Pointer(n)), 0); err != nil || *n == 0 {
		return nil, err
	}
	all := make([]extension, *n)
	if err := q.driverGetExtensions.call(uintptr(d), uintptr(unsafe.Pointer(n)), uintptr(addr(all))); err != nil {
		return nil, err
	}
	var names []string
	for i := range all[:min(int(*n), len(all))] {
		names = append(names, text(all[i].name[:]))
	}
	return names, nil
}

// DeviceProperties is ze_device_properties_t.
type DeviceProperties struct {
	header
	Type, VendorID, DeviceID, Flags, SubDeviceID, CoreClock uint32
	MaxAllocation                                           uint64
	MaxHardwareContexts, MaxQueuePriority                   uint32
	ThreadsPerEU, EUSIMDWidth, EUsPerSubslice               uint32
	SubslicesPerSlice, Slices                               uint32
	TimerResolution                                         uint64
	TimestampBits, KernelTimestampBits                      uint32
	UUID                                                    [16]byte
	name                                                    [256]byte
}

// Name returns the device's name.
func (p *DeviceProperties) Name() string { return text(p.name[:]) }

// DeviceProperties asks for a device's properties.
func (q *Queries) DeviceProperties(d DeviceID) (*DeviceProperties, error) {
	p := &DeviceProperties{header: header{stype: stypeDeviceProperties}}
	return p, q.deviceGetProperties.call(uintptr(d), uintptr(unsafe.Pointer(p)))
}

// ipVersion is ze_device_ip_version_ext_t.
type ipVersion struct {
	header
	version uint32
}

// IPVersion asks for the version of a device's hardware, of a driver that has
// ZE_extension_device_ip_version.
func (q *Queries) IPVersion(d DeviceID) (uint32, error) {
	type asked struct {
		DeviceProperties
		ipVersion
	}
	a := &asked{}
	a.DeviceProperties.stype, a.ipVersion.stype = stypeDeviceProperties, stypeDeviceIPVersionExt
	pinned := pin(unsafe.Pointer(a))
	defer pinned.Unpin()
	a.DeviceProperties.next = unsafe.Pointer(&a.ipVersion)
	err := q.deviceGetProperties.call(uintptr(d), uintptr(unsafe.Pointer(a)))
	return a.version, err
}

// ModuleProperties is ze_device_module_properties_t.
type ModuleProperties struct {
	header
	SPIRV                      uint32 // the latest version, as APIVersion gives one
	Flags                      uint32
	FP16, FP32, FP64           uint32
	MaxArguments, PrintfBuffer uint32
	NativeKernel               [16]byte
}

// ModuleProperties asks what a device can have in modules.
func (q *Queries) ModuleProperties(d DeviceID) (*ModuleProperties, error) {
	p := &ModuleProperties{header: header{stype: stypeDeviceModuleProperties}}
	return p, q.deviceGetModuleProperties.call(uintptr(d), uintptr(unsafe.Pointer(p)))
}

// ComputeProperties is ze_device_compute_properties_t.
type ComputeProperties struct {
	header
	MaxTotalGroupSize uint32
	MaxGroupSize      [3]uint32
	MaxGroupCount     [3]uint32
	MaxLocalMemory    uint32
	SubGroupSizes     uint32
	SubGroupSize      [8]uint32
}

// ComputeProperties asks what launches a device can have.
func (q *Queries) ComputeProperties(d DeviceID) (*ComputeProperties, error) {
	p := &ComputeProperties{header: header{stype: stypeDeviceComputeProperties}}
	return p, q.deviceGetComputeProperties.call(uintptr(d), uintptr(unsafe.Pointer(p)))
}

// PCI is ze_pci_ext_properties_t.
type PCI struct {
	header
	Domain, Bus, Device, Function uint32
	generation, width             int32
	bandwidth                     int64
}

// PCI asks where a device is, of a driver that has ZE_extension_pci_properties.
func (q *Queries) PCI(d DeviceID) (*PCI, error) {
	p := &PCI{header: header{stype: stypePCIExtProperties}}
	return p, q.devicePciGetProperties.call(uintptr(d), uintptr(unsafe.Pointer(p)))
}

// text reads a C string.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
