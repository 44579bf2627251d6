package cl

import (
	"sync"
	"unsafe"
)

// listing serializes what makes drivers find their devices: of goroutines that
// ask PoCL 3.1 first at the same time, all but one are told that there are
// none.
var listing sync.Mutex

// GetPlatformIDs returns all platforms; none is not an error.
func GetPlatformIDs() ([]PlatformID, error) {
	listing.Lock()
	defer listing.Unlock()
	return ids[PlatformID](PlatformNotFoundKHR, func(n int, first unsafe.Pointer, count *uint32) error {
		return clGetPlatformIDs.Status(uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// Queries are the entry points that tell what platforms and devices are: the
// loader's, or those of one driver.
type Queries struct{ platform, device *Entry }

// Loader are the loader's.
var Loader = &Queries{&clGetPlatformInfo, &clGetDeviceInfo}

// Driver are those at two addresses.
func Driver(getPlatformInfo, getDeviceInfo uintptr) *Queries {
	return &Queries{at(clGetPlatformInfo.name, getPlatformInfo), at(clGetDeviceInfo.name, getDeviceInfo)}
}

// Platform is clGetPlatformInfo: it returns the value of a parameter.
func (q *Queries) Platform(p PlatformID, param uint32) ([]byte, error) {
	return q.platform.Info(param, uintptr(p))
}

// Device is clGetDeviceInfo: it returns the value of a parameter.
func (q *Queries) Device(d DeviceID, param uint32) ([]byte, error) {
	return q.device.Info(param, uintptr(d))
}

// GetDeviceIDs returns the devices of a type; none is not an error.
func GetDeviceIDs(p PlatformID, kind uint64) ([]DeviceID, error) {
	listing.Lock()
	defer listing.Unlock()
	return ids[DeviceID](DeviceNotFound, func(n int, first unsafe.Pointer, count *uint32) error {
		return clGetDeviceIDs.Status(uintptr(p), uintptr(kind), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// CreateSubDevices returns the parts of a device. Properties end with zero.
func CreateSubDevices(d DeviceID, properties []uintptr) ([]DeviceID, error) {
	return ids[DeviceID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return clCreateSubDevices.Status(uintptr(d), uintptr(Addr(properties)), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}
