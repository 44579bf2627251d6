package ze

import "unsafe"

var (
	zeMemAllocDevice = entry{name: "zeMemAllocDevice"}
	zeMemAllocHost   = entry{name: "zeMemAllocHost"}
	zeMemAllocShared = entry{name: "zeMemAllocShared"}
	zeMemFree        = entry{name: "zeMemFree"}
)

type deviceMemory struct {
	header
	flags, ordinal uint32
}

type hostMemory struct {
	header
	flags uint32
}

// MemAllocDevice allocates memory of a device.
func MemAllocDevice(c ContextID, d DeviceID, size int) (uintptr, error) {
	desc := &deviceMemory{header: header{stype: stypeDeviceMemAllocDesc}}
	return zeMemAllocDevice.create(uintptr(c), uintptr(unsafe.Pointer(desc)), uintptr(size), 0, uintptr(d))
}

// MemAllocHost allocates memory of the host that devices reach.
func MemAllocHost(c ContextID, size int) (uintptr, error) {
	desc := &hostMemory{header: header{stype: stypeHostMemAllocDesc}}
	return zeMemAllocHost.create(uintptr(c), uintptr(unsafe.Pointer(desc)), uintptr(size), 0)
}

// MemAllocShared allocates memory that goes where it is used.
func MemAllocShared(c ContextID, d DeviceID, size int) (uintptr, error) {
	device := &deviceMemory{header: header{stype: stypeDeviceMemAllocDesc}}
	host := &hostMemory{header: header{stype: stypeHostMemAllocDesc}}
	return zeMemAllocShared.create(uintptr(c), uintptr(unsafe.Pointer(device)), uintptr(unsafe.Pointer(host)), uintptr(size), 0, uintptr(d))
}

// MemFree frees memory.
func MemFree(c ContextID, at uintptr) error { return zeMemFree.call(uintptr(c), at) }
