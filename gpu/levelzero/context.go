package levelzero

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
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

// Place is where memory is.
type Place uint8

// The places of memory.
const (
	OnDevice Place = iota // the device alone reaches it
	OnHost                // all devices reach it
	Shared                // it goes where it is used
)

// Buffer is memory that kernels reach.
type Buffer struct {
	place Place
	size  int
	object
}

// NewBuffer allocates memory of a size in bytes. The caller releases it.
func (c *Context) NewBuffer(d *Device, place Place, size int) (*Buffer, error) {
	b := &Buffer{place: place, size: size}
	return made(b, c.do(fmt.Sprintf("allocate %d bytes", size), func(id uintptr) (err error) {
		if size < 1 || !slices.Contains(c.devices, d) {
			return fmt.Errorf("%w: the size, or a device that is not of the context", ErrArgument)
		}
		device, host := newNumbers(stypeDeviceMemAllocDesc), newNumbers(stypeHostMemAllocDesc)
		var at uintptr
		switch place {
		case OnHost:
			at, err = ze("zeMemAllocHost").create(id, uintptr(unsafe.Pointer(host)), uintptr(size), 0)
		case Shared:
			at, err = ze("zeMemAllocShared").create(id, uintptr(unsafe.Pointer(device)), uintptr(unsafe.Pointer(host)),
				uintptr(size), 0, d.id)
		default:
			at, err = ze("zeMemAllocDevice").create(id, uintptr(unsafe.Pointer(device)), uintptr(size), 0, d.id)
		}
		b.set("buffer", at, func(at uintptr) error {
			id, err := c.get()
			if err != nil {
				return err
			}
			return ze("zeMemFree").call(id, at)
		})
		return err
	}))
}

// Size returns the size in bytes.
func (b *Buffer) Size() int { return b.size }

// Bytes returns the memory itself, of a buffer that is not on the device. It must not
// be used after Release, nor while a device writes to it.
func (b *Buffer) Bytes() (content []byte, err error) {
	err = b.do("read buffer", func(at uintptr) error {
		if b.place == OnDevice {
			return fmt.Errorf("%w: it is on the device", ErrArgument)
		}
		content = dl.Bytes(at, b.size)
		return nil
	})
	return content, err
}
