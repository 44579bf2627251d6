package cl

import (
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
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
		return Status("clGetPlatformIDs", uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// Queries tell what platforms and devices are: those of one driver, at two addresses, or the
// loader's, at 0.
type Queries struct{ platform, device dl.Func }

// Loader are the loader's.
var Loader = new(Queries)

// Driver are those at two addresses.
func Driver(getPlatformInfo, getDeviceInfo uintptr) *Queries {
	return &Queries{dl.Func(getPlatformInfo), dl.Func(getDeviceInfo)}
}

// Platform is clGetPlatformInfo: it returns the value of a parameter.
func (q *Queries) Platform(p PlatformID, param uint32) ([]byte, error) {
	return info("clGetPlatformInfo", q.platform, param, []uintptr{uintptr(p)})
}

// Device is clGetDeviceInfo: it returns the value of a parameter.
func (q *Queries) Device(d DeviceID, param uint32) ([]byte, error) {
	return info("clGetDeviceInfo", q.device, param, []uintptr{uintptr(d)})
}

// GetDeviceIDs returns the devices of a type; none is not an error.
func GetDeviceIDs(p PlatformID, kind uint64) ([]DeviceID, error) {
	listing.Lock()
	defer listing.Unlock()
	return ids[DeviceID](DeviceNotFound, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clGetDeviceIDs", uintptr(p), uintptr(kind), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// CreateSubDevices returns the parts of a device. Properties end with zero.
func CreateSubDevices(d DeviceID, properties []uintptr) ([]DeviceID, error) {
	return ids[DeviceID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clCreateSubDevices", uintptr(d), uintptr(Addr(properties)), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}
