package levelzero

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
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

func (h *header) setType(stype uint32) { h.stype = stype }

// properties asks what h is: T is a structure of the API, of a type.
func properties[T any, P interface {
	*T
	setType(stype uint32)
}](e entry, stype uint32, h uintptr) (P, error) {
	p := P(new(T))
	p.setType(stype)
	return p, e.call(h, uintptr(unsafe.Pointer(p)))
}

// queries are the functions that ask what drivers and devices are, by their addresses in the order of
// QueryNames; those of zero are the loader's.
type queries [len(QueryNames)]uintptr

// QueryNames are the names of the functions in Entries.Queries.
var QueryNames = [...]string{
	"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices",
	"zeDriverGetProperties", "zeDriverGetApiVersion", "zeDriverGetExtensionProperties",
	"zeDeviceGetProperties", "zeDeviceGetModuleProperties", "zeDeviceGetComputeProperties", "zeDevicePciGetPropertiesExt",
}

// entry returns the function of a name.
func (q queries) entry(name string) entry {
	return entry{name, dl.Func(q[slices.Index(QueryNames[:], name)])}
}

// handles returns what a function lists: drivers, the root devices of a driver, or the parts of a device. None is
// not an error.
//
//go:uintptrescapes
func (q queries) handles(name string, of ...uintptr) ([]uintptr, error) {
	return list[uintptr](q.entry(name), 0, of...)
}

// driverProperties is ze_driver_properties_t.
type driverProperties struct {
	header
	UUID    [16]byte
	Version uint32
}

// extension is ze_driver_extension_properties_t.
type extension struct {
	name [256]byte
	_    uint32 // version
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

// ipVersion asks for the version of a device's hardware, of a driver that has
// ZE_extension_device_ip_version.
func (q queries) ipVersion(d uintptr) (uint32, error) {
	a := &struct {
		deviceProperties
		own     header // ze_device_ip_version_ext_t
		version uint32
	}{own: header{stype: stypeDeviceIPVersionExt}}
	var pinned runtime.Pinner
	pinned.Pin(a)
	defer pinned.Unpin()
	a.header = header{stypeDeviceProperties, unsafe.Pointer(&a.own)}
	err := q.entry("zeDeviceGetProperties").call(d, uintptr(unsafe.Pointer(a)))
	return a.version, err
}

// moduleProperties is ze_device_module_properties_t.
type moduleProperties struct {
	header
	spirv                      uint32 // the latest version: the major one in the upper 16 bits
	Flags                      uint32
	FP16, FP32, FP64           uint32
	MaxArguments, PrintfBuffer uint32
	NativeKernel               [16]byte
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

// pciProperties is ze_pci_ext_properties_t.
type pciProperties struct {
	header
	Domain, Bus, Device, Function uint32
	_, _                          int32 // generation and width
	_                             int64 // bandwidth
}
