package opencl

import (
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/handle"
)

// Context is a cl_context: what buffers, queues and programs belong to.
type Context struct {
	devices []*Device
	object
}

// Open makes a context on devices of one platform. The caller releases it, and
// keeps parts of devices until then.
func Open(devices ...*Device) (*Context, error) {
	if len(devices) == 0 {
		return nil, fmt.Errorf("open context: %w: no device", ErrArgument)
	}
	ids := make([]cl.DeviceID, len(devices))
	for i, d := range devices {
		if d.platform.id != devices[0].platform.id {
			return nil, fmt.Errorf("open context: %w: %s and %s are of different platforms", ErrArgument, devices[0].Name, d.Name)
		}
		ids[i] = d.id()
	}
	properties := []uintptr{cl.ContextPlatform, uintptr(devices[0].platform.id), 0}
	h, err := cl.Create("clCreateContext", uintptr(cl.Addr(properties)), uintptr(len(ids)), uintptr(cl.Addr(ids)), 0, 0)
	if err != nil {
		return nil, fmt.Errorf("open context on %s: %w", devices[0].Name, resources(err))
	}
	c := &Context{devices: slices.Clone(devices)}
	c.set("context", h, "clReleaseContext")
	return c, nil
}

// Adopt returns a Context for a cl_context that the application has. It counts one user more in the
// driver, which Release takes back: the application keeps and releases its own.
func Adopt(handle uintptr) (*Context, error) {
	if handle == 0 {
		return nil, fmt.Errorf("adopt context: %w: it is NULL", ErrArgument)
	}
	if err := cl.Status("clRetainContext", handle); err != nil {
		return nil, fmt.Errorf("adopt context: %w", err)
	}
	c := &Context{}
	c.set("context", handle, "clReleaseContext")
	for _, d := range cl.Numbers(cl.Info("clGetContextInfo", cl.ContextDevices, handle)) {
		p, ok := cl.Number(cl.Loader.Device(cl.DeviceID(d), cl.DevicePlatform))
		if !ok {
			c.devices = nil
			break
		}
		c.devices = append(c.devices, newDevice(cl.DeviceID(d), loaded(cl.PlatformID(p))))
	}
	if len(c.devices) == 0 {
		_ = c.Release()
		return nil, fmt.Errorf("adopt context: %w: its devices are not known", ErrArgument)
	}
	return c, nil
}

// Devices returns the context's devices: their order gives the ordinals that
// requests and programs use. The caller must not change the slice.
func (c *Context) Devices() []*Device { return c.devices }

// Release gives the context back; what was made in it goes before.
func (c *Context) Release() error {
	return c.handle.Release(func(h uintptr) error {
		c.devices[0].rest()
		return cl.Status("clReleaseContext", h)
	})
}

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

// Handle returns the driver's handle: a cl_mem of a Buffer. It is zero once the object is released.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// Release gives the object back, once. Commands that were queued go on.
func (o *object) Release() error {
	return o.handle.Release(func(h uintptr) error { return cl.Status(o.free, h) })
}
