package cu

import (
	"errors"
	"runtime"
	"unsafe"
)

// Context is a CUcontext.
type Context uintptr

var (
	cuDevicePrimaryCtxRetain  = entry{name: "cuDevicePrimaryCtxRetain"}
	cuDevicePrimaryCtxRelease = entry{name: "cuDevicePrimaryCtxRelease_v2"}
	cuCtxCreate               = entry{name: "cuCtxCreate_v2"}
	cuCtxDestroy              = entry{name: "cuCtxDestroy_v2"}
	cuCtxPushCurrent          = entry{name: "cuCtxPushCurrent_v2"}
	cuCtxPopCurrent           = entry{name: "cuCtxPopCurrent_v2"}
	cuCtxGetCurrent           = entry{name: "cuCtxGetCurrent"}
	cuCtxGetDevice            = entry{name: "cuCtxGetDevice"}
	cuCtxSynchronize          = entry{name: "cuCtxSynchronize"}
)

// DevicePrimaryCtxRetain returns a device's primary context, with a use added.
func DevicePrimaryCtxRetain(d Device) (Context, error) {
	c := new(Context)
	err := cuDevicePrimaryCtxRetain.call(uintptr(unsafe.Pointer(c)), uintptr(d))
	return *c, err
}

// DevicePrimaryCtxRelease ends one use of a device's primary context.
func DevicePrimaryCtxRelease(d Device) error { return cuDevicePrimaryCtxRelease.call(uintptr(d)) }

// CtxCreate makes a context, which is current on no thread afterwards.
func CtxCreate(d Device, flags uint32) (Context, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := new(Context)
	if err := cuCtxCreate.call(uintptr(unsafe.Pointer(c)), uintptr(flags), uintptr(d)); err != nil {
		return 0, err
	}
	if err := cuCtxPopCurrent.call(uintptr(unsafe.Pointer(new(Context)))); err != nil {
		return 0, errors.Join(err, CtxDestroy(*c))
	}
	return *c, nil
}

// CtxDestroy ends a context with all that is in it.
func CtxDestroy(c Context) error { return cuCtxDestroy.call(uintptr(c)) }

// CtxGetCurrent returns the context that is current on the calling thread; zero
// for none.
func CtxGetCurrent() (Context, error) {
	c := new(Context)
	err := cuCtxGetCurrent.call(uintptr(unsafe.Pointer(c)))
	return *c, err
}

// CtxGetDevice returns the device of the current context.
func CtxGetDevice() (Device, error) {
	d := new(Device)
	err := cuCtxGetDevice.call(uintptr(unsafe.Pointer(d)))
	return *d, err
}

// CtxSynchronize waits until all that was queued in the current context is done.
func CtxSynchronize() error { return cuCtxSynchronize.call() }

// Within calls f with c current on f's thread, and makes current again what was
// before, however f ends. The goroutine keeps its thread meanwhile.
func Within(c Context, f func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cuCtxPushCurrent.call(uintptr(c)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cuCtxPopCurrent.call(uintptr(unsafe.Pointer(new(Context))))) }()
	return f()
}
