package cuda

import "github.com/kernstash/kernstash/internal/handle"

// object is embedded by what holds a driver's handle until it is released.
type object struct {
	handle handle.Handle
	free   func(h uintptr) error
}

// set gives it the handle, and what releases that; what names it in errors.
func (o *object) set(what string, h uintptr, free func(h uintptr) error) {
	o.free = free
	o.handle.Set(what, h)
}

// Handle returns the driver's handle of the object: CUcontext, CUmodule, CUstream, CUevent or
// CUdeviceptr. It is zero once the object is released, and that of the default stream.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// Release gives the object back, once, at once: what is queued must not need memory or a module
// that is released; a stream does first what it still holds. What was made in a context goes before
// that, and kernels are of no use after their module.
func (o *object) Release() error { return o.handle.Release(o.free) }
