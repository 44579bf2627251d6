package opencl

import (
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/handle"
)

// object is embedded by what holds a driver's handle until it is released.
type object struct {
	handle handle.Handle
	free   string
}

// set gives it the handle, and the name of the function that releases it; what names it in errors.
func (o *object) set(what string, h uintptr, free string) {
	o.free = free
	o.handle.Set(what, h)
}

// Handle returns the driver's handle: a cl_mem of a Buffer. It is zero once the object is
// released.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// Release gives the object back, once. Commands that were queued go on.
func (o *object) Release() error {
	return o.release(func(h uintptr) error { return cl.Status(o.free, h) })
}

// release calls free with the handle, once.
func (o *object) release(free func(uintptr) error) error { return o.handle.Release(free) }
