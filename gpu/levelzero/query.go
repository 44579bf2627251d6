package levelzero

import (
	"bytes"
	"sync"
	"unsafe"
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

// numbers is a structure of nothing but numbers; those that are not given are 0.
type numbers struct {
	header
	n [5]uint32
}

func newNumbers(stype uint32, n ...uint32) *numbers {
	d := &numbers{header: header{stype: stype}}
	copy(d.n[:], n)
	return d
}

// queries are the functions that ask what drivers and devices are, in the order of QueryNames.
type queries [len(QueryNames)]entry

// The indices of queries.
const (
	driverGet = iota
	deviceGet
	deviceGetSubDevices
	driverGetProperties
	driverGetAPIVersion
	driverGetExtensions
	deviceGetProperties
	deviceGetModuleProperties
	deviceGetComputeProperties
	devicePciGetProperties
)

// QueryNames are the names of the functions in Entries.Queries.
var QueryNames = [...]string{
	"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices",
	"zeDriverGetProperties", "zeDriverGetApiVersion", "zeDriverGetExtensionProperties",
	"zeDeviceGetProperties", "zeDeviceGetModuleProperties", "zeDeviceGetComputeProperties", "zeDevicePciGetPropertiesExt",
}

// queriesAt returns queries by the addresses of their functions, in the order of
// QueryNames; the loader is asked for what is zero.
func queriesAt(addrs [len(QueryNames)]uintptr) *queries {
	q := new(queries)
	for i, name := range QueryNames {
		q[i].name = name
		q[i].addr.Store(addrs[i])
	}
	return q
}

// throughLoader returns queries that ask through the loader.
var throughLoader = sync.OnceValue(func() *queries { return queriesAt([len(QueryNames)]uintptr{}) })

// drivers returns the drivers that the loader has.
func (q *queries) drivers() ([]uintptr, error) { return list[uintptr](&q[driverGet], 0) }

// devices returns a driver's root devices.
func (q *queries) devices(driver uintptr) ([]uintptr, error) {
	return list[uintptr](&q[deviceGet], 0, driver)
}

// subDevices returns the parts of a device; none is not an error.
func (q *queries) subDevices(d uintptr) ([]uintptr, error) {
	return list[uintptr](&q[deviceGetSubDevices], 0, d)
}

// driverProperties is ze_driver_properties_t.
type driverProperties struct {
	header
	UUID    [16]byte
	Version uint32
}

// driverProperties asks for a driver's properties.
func (q *queries) driverProperties(d uintptr) (*driverProperties, error) {
	p := &driverProperties{header: header{stype: stypeDriverProperties}}
	return p, q[driverGetProperties].call(d, uintptr(unsafe.Pointer(p)))
}

// apiVersion returns the version of the API that a driver implements: the major one
// in the upper 16 bits, the minor one in the lower.
func (q *queries) apiVersion(d uintptr) (uint32, error) {
	v := new(uint32)
	err := q[driverGetAPIVersion].call(d, uintptr(unsafe.Pointer(v)))
	return *v, err
}

// extension is ze_driver_extension_properties_t.
type extension struct {
	name [256]byte
	_    uint32 // version
}

// extensions returns the names of a driver's extensions, in its order.
func (q *queries) extensions(d uintptr) ([]string, error) {
	all, err := list(&q[driverGetExtensions], extension{}, d)
	var names []string
	for i := range all {
		names = append(names, text(all[i].name[:]))
	}
	return names, err
}

// deviceProperties is ze_device_properties_t.
type deviceProperties struct {
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

// deviceProperties asks for a device's properties.
func (q *queries) deviceProperties(d uintptr) (*deviceProperties, error) {
	p := &deviceProperties{header: header{stype: stypeDeviceProperties}}
	return p, q[deviceGetProperties].call(d, uintptr(unsafe.Pointer(p)))
}

// ipVersion is ze_device_ip_version_ext_t.
type ipVersion struct {
	header
	version uint32
}

// ipVersion asks for the version of a device's hardware, of a driver that has
// ZE_extension_device_ip_version.
func (q *queries) ipVersion(d uintptr) (uint32, error) {
	type asked struct {
		deviceProperties
		ipVersion
	}
	a := &asked{}
	a.deviceProperties.stype, a.ipVersion.stype = stypeDeviceProperties, stypeDeviceIPVersionExt
	pinned := pin(unsafe.Pointer(a))
	defer pinned.Unpin()
	a.deviceProperties.next = unsafe.Pointer(&a.ipVersion)
	err := q[deviceGetProperties].call(d, uintptr(unsafe.Pointer(a)))
	return a.version, err
}

// moduleProperties is ze_device_module_properties_t.
type moduleProperties struct {
	header
	spirv                      uint32 // the latest version, as apiVersion gives one
	Flags                      uint32
	FP16, FP32, FP64           uint32
	MaxArguments, PrintfBuffer uint32
	NativeKernel               [16]byte
}

// moduleProperties asks what a device can have in modules.
func (q *queries) moduleProperties(d uintptr) (*moduleProperties, error) {
	p := &moduleProperties{header: header{stype: stypeDeviceModuleProperties}}
	return p, q[deviceGetModuleProperties].call(d, uintptr(unsafe.Pointer(p)))
}

// computeProperties is ze_device_compute_properties_t.
type computeProperties struct {
	header
	MaxTotalGroupSize uint32
	MaxGroupSize      [3]uint32
	MaxGroupCount     [3]uint32
	MaxLocalMemory    uint32
	SubGroupSizes     uint32
	SubGroupSize      [8]uint32
}

// computeProperties asks what launches a device can have.
func (q *queries) computeProperties(d uintptr) (*computeProperties, error) {
	p := &computeProperties{header: header{stype: stypeDeviceComputeProperties}}
	return p, q[deviceGetComputeProperties].call(d, uintptr(unsafe.Pointer(p)))
}

// pciProperties is ze_pci_ext_properties_t.
type pciProperties struct {
	header
	Domain, Bus, Device, Function uint32
	generation, width             int32
	bandwidth                     int64
}

// pci asks where a device is, of a driver that has ZE_extension_pci_properties.
func (q *queries) pci(d uintptr) (*pciProperties, error) {
	p := &pciProperties{header: header{stype: stypePCIExtProperties}}
	return p, q[devicePciGetProperties].call(d, uintptr(unsafe.Pointer(p)))
}

// text reads a C string.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
