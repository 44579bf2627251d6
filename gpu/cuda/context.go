package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Context is a CUcontext: what memory, streams and modules belong to. Calls make
// it current on the thread that they run on and then what was before: what is
// current elsewhere does not matter to them, and does not change.
type Context struct {
	device *Device
	object
}

// Open returns the primary context of a device, which a process shares with all libraries that are
// built on CUDA's runtime. It counts one use, which Release ends.
func Open(d *Device) (*Context, error) {
	var h uintptr
	if err := call("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&h)), uintptr(d.id)); err != nil {
		return nil, fmt.Errorf("open context on %s: %w", d.Name, resources(err))
	}
	return newContext(d, h, func(uintptr) error { return call("cuDevicePrimaryCtxRelease_v2", uintptr(d.id)) }), nil
}

// OpenOwn makes a context of its own on a device. Nobody else's memory or errors
// are in it, and starting it costs memory of the device.
func OpenOwn(d *Device) (*Context, error) {
	runtime.LockOSThread() // on which it is current at first
	defer runtime.UnlockOSThread()
	var h uintptr
	err := call("cuCtxCreate_v2", uintptr(unsafe.Pointer(&h)), 0, uintptr(d.id))
	if err == nil {
		if err = popCurrent(); err != nil {
			err = errors.Join(err, call("cuCtxDestroy_v2", h))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open context on %s: %w", d.Name, resources(err))
	}
	return newContext(d, h, func(h uintptr) error { return call("cuCtxDestroy_v2", h) }), nil
}

// Adopt returns a Context for a CUcontext that the application has, and keeps
// until this one is released. Release leaves it alone.
func Adopt(handle uintptr) (*Context, error) {
	d, err := deviceOf(handle)
	if err != nil {
		return nil, fmt.Errorf("adopt context: %w", err)
	}
	return newContext(d, handle, func(uintptr) error { return nil }), nil
}

// deviceOf returns the device of a CUcontext.
func deviceOf(handle uintptr) (*Device, error) {
	if handle == 0 {
		return nil, fmt.Errorf("%w: it is NULL", ErrArgument)
	}
	if err := start(); err != nil {
		return nil, err
	}
	var id int32
	if err := current(handle, func() error { return call("cuCtxGetDevice", uintptr(unsafe.Pointer(&id))) }); err != nil {
		return nil, err
	}
	return newDevice(id)
}

// Current returns the CUcontext that is current on the calling thread, zero for
// none: what Adopt takes. The goroutine should be locked to its thread.
func Current() (uintptr, error) {
	var h uintptr
	err := start()
	if err == nil {
		err = call("cuCtxGetCurrent", uintptr(unsafe.Pointer(&h)))
	}
	if err != nil {
		return 0, fmt.Errorf("current context: %w", err)
	}
	return h, nil
}

func newContext(d *Device, handle uintptr, free func(h uintptr) error) *Context {
	c := &Context{device: d}
	c.set("context", handle, free)
	return c
}

// Device returns the context's device.
func (c *Context) Device() *Device { return c.device }

// Within calls f with the context current on f's thread, for calls of the driver
// that this package does not have.
func (c *Context) Within(f func() error) error { return c.within("use context", f) }

// within calls f with the context current.
func (c *Context) within(what string, f func() error) error {
	h, err := c.get()
	if err == nil {
		err = current(h, f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, resources(err))
	}
	return nil
}

// with calls f with a handle of the context, which is current.
func (c *Context) with(what string, handle func() (uintptr, error), f func(h uintptr) error) error {
	h, err := handle()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return c.within(what, func() error { return f(h) })
}

// Synchronize waits until all that was queued in the context is done. What a kernel did wrong, an
// access where there is no memory, is told here at the latest; the context is of no use then.
func (c *Context) Synchronize() error {
	return c.within("finish context", func() error { return call("cuCtxSynchronize") })
}

// MemoryInfo returns the free bytes of the device's memory, and all.
func (c *Context) MemoryInfo() (free, total uint64, err error) {
	err = c.within("ask context", func() error {
		return call("cuMemGetInfo_v2", uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, total, err
}

// gone reports whether an error only says that a whole context has ended, and with
// it what was in it; so what was to be released is.
func gone(err error) bool {
	return errors.Is(err, ContextIsDestroyed) || errors.Is(err, InvalidContext) || errors.Is(err, Deinitialized)
}

// end returns what releases an object of the context by a function. Nobody is told that the
// object went with the context.
func (c *Context) end(function string) func(object uintptr) error {
	return func(object uintptr) error {
		h, err := c.get()
		if err != nil {
			return nil // its own release was to come last; all went with it
		}
		if err := current(h, func() error { return call(function, object) }); err != nil && !gone(err) {
			return err
		}
		return nil
	}
}
