package levelzero

import (
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
	"github.com/kernstash/kernstash/internal/dl"
)

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
	context *Context
	place   Place
	size    int
	object
}

// NewBuffer allocates memory of a size in bytes. The caller releases it.
func (c *Context) NewBuffer(d *Device, place Place, size int) (*Buffer, error) {
	id, err := c.id()
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	if size < 1 || !slices.Contains(c.devices, d) {
		return nil, fmt.Errorf("allocate %d bytes: %w: the size, or a device that is not of the context", size, ErrArgument)
	}
	var at uintptr
	switch place {
	case OnHost:
		at, err = ze.MemAllocHost(id, size)
	case Shared:
		at, err = ze.MemAllocShared(id, d.id, size)
	default:
		at, err = ze.MemAllocDevice(id, d.id, size)
	}
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, resources(err))
	}
	b := &Buffer{context: c, place: place, size: size}
	b.set("buffer", at)
	return b, nil
}

// Handle returns the address of the memory; zero once it is released.
func (b *Buffer) Handle() uintptr { return b.handle.Load() }

// Size returns the size in bytes.
func (b *Buffer) Size() int { return b.size }

// Bytes returns the memory itself, of a buffer that is not on the device. It must not
// be used after Release, nor while a device writes to it.
func (b *Buffer) Bytes() ([]byte, error) {
	at, err := b.get()
	if err != nil {
		return nil, fmt.Errorf("read buffer: %w", err)
	}
	if b.place == OnDevice {
		return nil, fmt.Errorf("read buffer: %w: it is on the device", ErrArgument)
	}
	return dl.Bytes(at, b.size), nil
}

// Release gives the memory back.
func (b *Buffer) Release() error {
	return b.release(func(at uintptr) error {
		id, err := b.context.id()
		if err != nil {
			return err
		}
		return ze.MemFree(id, at)
	})
}
