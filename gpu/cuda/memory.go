package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// Memory is memory of a context's device.
type Memory struct {
	context *Context
	size    int
	object
}

// NewMemory makes size bytes of memory, whose content is undefined. The caller releases it.
func (c *Context) NewMemory(size int) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("make memory: %w: %d bytes", ErrArgument, size)
	}
	var p Pointer
	err := c.within("make memory", func() error { return call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), uintptr(size)) })
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", size, err)
	}
	m := &Memory{context: c, size: size}
	m.set("memory", uintptr(p), c.end("cuMemFree_v2"))
	return m, nil
}

// Size returns the bytes.
func (m *Memory) Size() int { return m.size }

// Pointer returns the CUdeviceptr; zero once it is released.
func (m *Memory) Pointer() Pointer { return Pointer(m.handle.Load()) }

// Pointer is an address in device memory, a CUdeviceptr. It can be an argument of
// a kernel, for memory that the application has from elsewhere.
type Pointer uint64

// Number is what device memory can hold and Go can too.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Bytes returns the memory of s as bytes, shared with it, for transfers.
func Bytes[T Number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// Write copies data into m at offset, in bytes, after what was queued before. It
// returns when data may be changed and is in m.
func (s *Stream) Write(m *Memory, offset int, data []byte) error {
	return s.transfer("write memory", m, offset, len(data), func(at, id uintptr) error {
		if err := call("cuMemcpyHtoDAsync_v2", at, uintptr(dl.Addr(data)), uintptr(len(data)), id); err != nil {
			return err
		}
		return call("cuStreamSynchronize", id)
	})
}

// Read copies from m at offset, in bytes, until data is full, after what was
// queued before. It returns when data is there.
func (s *Stream) Read(m *Memory, offset int, data []byte) error {
	return s.transfer("read memory", m, offset, len(data), func(at, id uintptr) error {
		if err := call("cuMemcpyDtoHAsync_v2", uintptr(dl.Addr(data)), at, uintptr(len(data)), id); err != nil {
			return err
		}
		return call("cuStreamSynchronize", id)
	})
}

// Fill queues repeating a pattern of 1 or 4 bytes over size bytes from offset,
// both multiples of the pattern's length.
func (s *Stream) Fill(m *Memory, pattern []byte, offset, size int) error {
	one := len(pattern) > 0 && bytes.Count(pattern, pattern[:1]) == len(pattern)
	if !one && len(pattern) != 4 || offset%max(len(pattern), 1) != 0 || size%max(len(pattern), 1) != 0 {
		return fmt.Errorf("fill memory: %w: a pattern of %d bytes over %d at %d", ErrArgument, len(pattern), size, offset)
	}
	return s.transfer("fill memory", m, offset, size, func(at, id uintptr) error {
		if one {
			return call("cuMemsetD8Async", at, uintptr(pattern[0]), uintptr(size), id)
		}
		return call("cuMemsetD32Async", at, uintptr(binary.NativeEndian.Uint32(pattern)), uintptr(size/4), id)
	})
}

// Copy queues copying size bytes from one piece of memory to another.
func (s *Stream) Copy(from *Memory, fromOffset int, to *Memory, toOffset, size int) error {
	target, err := to.get()
	if err != nil {
		return fmt.Errorf("copy memory: %w", err)
	}
	if toOffset < 0 || size > to.size-toOffset {
		return fmt.Errorf("copy memory: %w: %d bytes at %d, the target has %d", ErrArgument, size, toOffset, to.size)
	}
	return s.transfer("copy memory", from, fromOffset, size, func(at, id uintptr) error {
		return call("cuMemcpyDtoDAsync_v2", target+uintptr(toOffset), at, uintptr(size), id)
	})
}

// transfer checks what every transfer needs. One of no bytes does nothing.
func (s *Stream) transfer(what string, m *Memory, offset, size int, do func(at, stream uintptr) error) error {
	if offset < 0 || size < 0 || size > m.size-offset {
		return fmt.Errorf("%s: %w: %d bytes at %d, it has %d", what, ErrArgument, size, offset, m.size)
	}
	h, err := m.get()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if size == 0 {
		return nil
	}
	return s.do(what, func(id uintptr) error { return do(h+uintptr(offset), id) })
}
