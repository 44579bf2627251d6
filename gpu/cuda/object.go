package cuda

import "github.com/kernstash/kernstash/internal/handle"

// object is embedded by what holds a driver's handle until it is released.
type object struct{ handle handle.Handle }

func (o *object) set(what string, h uintptr) { o.handle.Set(what, h) }

// Handle returns the driver's handle of the object: CUcontext, CUmodule, CUstream, CUevent or
// CUdeviceptr. It is zero once the object is released, and that of the default stream.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// release calls free with the handle, once.
func (o *object) release(free func(uintptr) error) error { return o.handle.Release(free) }
