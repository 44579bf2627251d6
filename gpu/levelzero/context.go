package levelzero

import (
	"fmt"
	"slices"
	"unsafe"
)

// Context is a ze_context_handle_t: what memory, queues and modules belong to.
type Context struct {
	devices []*Device
	object
}

// Open makes a context on devices of one driver. The caller releases it.
func Open(devices ...*Device) (*Context, error) {
	if err := ofOneDriver(devices); err != nil {
		return nil, fmt.Errorf("open context: %w", err)
	}
	id, err := ze("zeContextCreate").create(devices[0].driver.id, uintptr(unsafe.Pointer(newNumbers(stypeContextDesc))))
	if err != nil {
		return nil, fmt.Errorf("open context on %s: %w", devices[0].Name, resources(err))
	}
	c := &Context{devices: slices.Clone(devices)}
	c.set("context", id, destroy("zeContextDestroy"))
	return c, nil
}

// Adopt returns a Context for a ze_context_handle_t that the application has, and
// keeps until the Context is released, which does not destroy it.
func Adopt(handle uintptr, devices ...*Device) (*Context, error) {
	if handle == 0 {
		return nil, fmt.Errorf("adopt context: %w: it is NULL", ErrArgument)
	}
	if err := ofOneDriver(devices); err != nil {
		return nil, fmt.Errorf("adopt context: %w", err)
	}
	c := &Context{devices: slices.Clone(devices)}
	c.set("context", handle, func(uintptr) error { return nil }) // the application's own
	return c, nil
}

func ofOneDriver(devices []*Device) error {
	if len(devices) == 0 {
		return fmt.Errorf("%w: no device", ErrArgument)
	}
	for _, d := range devices {
		if d.driver.id != devices[0].driver.id {
			return fmt.Errorf("%w: %s and %s are of different drivers", ErrArgument, devices[0].Name, d.Name)
		}
	}
	return nil
}

// Devices returns the context's devices: their order gives the ordinals that requests
// and programs use. The caller must not change the slice.
func (c *Context) Devices() []*Device { return c.devices }
