package cl

import "unsafe"

// ContextID is a cl_context.
type ContextID uintptr

var (
	clCreateContext  = entry{name: "clCreateContext"}
	clRetainContext  = entry{name: "clRetainContext"}
	clReleaseContext = entry{name: "clReleaseContext"}
	clGetContextInfo = entry{name: "clGetContextInfo"}
)

// CreateContext makes a context on devices of one platform.
func CreateContext(p PlatformID, devices []DeviceID) (ContextID, error) {
	properties := []uintptr{ContextPlatform, uintptr(p), 0}
	code := new(Code)
	h, err := clCreateContext.create(code, uintptr(addr(properties)), uintptr(len(devices)), uintptr(addr(devices)),
		0, 0, uintptr(unsafe.Pointer(code)))
	return ContextID(h), err
}

// RetainContext counts one more user.
func RetainContext(c ContextID) error { return clRetainContext.status(uintptr(c)) }

// ReleaseContext counts one user less.
func ReleaseContext(c ContextID) error { return clReleaseContext.status(uintptr(c)) }

// GetContextInfo returns the value of a parameter.
func GetContextInfo(c ContextID, param uint32) ([]byte, error) {
	return clGetContextInfo.info(param, uintptr(c))
}
