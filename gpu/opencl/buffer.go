package opencl

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// Access says what kernels do with memory.
type Access uint64

// The kinds of access, bits of cl_mem_flags.
const (
	ReadWrite Access = cl.MemReadWrite
	WriteOnly Access = cl.MemWriteOnly
	ReadOnly  Access = cl.MemReadOnly
)

// Buffer is memory of a context.
type Buffer struct {
	size int
	object
}

// NewBuffer makes a buffer of size bytes, whose content is undefined. The
// caller releases it.
func (c *Context) NewBuffer(access Access, size int) (*Buffer, error) {
	if size <= 0 {
		return nil, fmt.Errorf("make buffer: %w: %d bytes", ErrArgument, size)
	}
	h, err := c.get()
	if err != nil {
		return nil, fmt.Errorf("make buffer: %w", err)
	}
	id, err := cl.Create("clCreateBuffer", h, uintptr(access), uintptr(size), 0)
	if err != nil {
		return nil, fmt.Errorf("make buffer of %d bytes: %w", size, resources(err))
	}
	b := &Buffer{size: size}
	b.set("buffer", id, "clReleaseMemObject")
	return b, nil
}

// Size returns the buffer's bytes.
func (b *Buffer) Size() int { return b.size }

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

// Write copies data into the buffer at offset, in bytes, after the events of
// wait. It returns when data may be changed.
func (q *Queue) Write(b *Buffer, offset int, data []byte, wait ...*Event) error {
	return q.transferData("write buffer", "clEnqueueWriteBuffer", b, offset, data, wait)
}

// Read copies from the buffer at offset, in bytes, until data is full, after
// the events of wait. It returns when data is there.
func (q *Queue) Read(b *Buffer, offset int, data []byte, wait ...*Event) error {
	return q.transferData("read buffer", "clEnqueueReadBuffer", b, offset, data, wait)
}

func (q *Queue) transferData(what, do string, b *Buffer, offset int, data []byte, wait []*Event) error {
	return q.transfer(what, b, offset, len(data), wait, func(q, m uintptr, w []cl.EventID) error {
		return cl.Status(do, q, m, 1, uintptr(offset), uintptr(len(data)), uintptr(cl.Addr(data)),
			uintptr(len(w)), uintptr(cl.Addr(w)), 0)
	})
}

// Fill queues repeating a pattern, of 1, 2, 4, … 128 bytes, over size bytes
// from offset, both multiples of the pattern's length.
func (q *Queue) Fill(b *Buffer, pattern []byte, offset, size int, wait ...*Event) error {
	return q.transfer("fill buffer", b, offset, size, wait, func(q, m uintptr, w []cl.EventID) error {
		return cl.Status("clEnqueueFillBuffer", q, m, uintptr(cl.Addr(pattern)), uintptr(len(pattern)), uintptr(offset), uintptr(size),
			uintptr(len(w)), uintptr(cl.Addr(w)), 0)
	})
}

// Copy queues copying size bytes from one buffer to another.
func (q *Queue) Copy(from *Buffer, fromOffset int, to *Buffer, toOffset, size int, wait ...*Event) error {
	target, err := to.get()
	if err != nil {
		return fmt.Errorf("copy buffer: %w", err)
	}
	if toOffset < 0 || size > to.size-toOffset {
		return fmt.Errorf("copy buffer: %w: %d bytes at %d, the target has %d", ErrArgument, size, toOffset, to.size)
	}
	return q.transfer("copy buffer", from, fromOffset, size, wait, func(q, m uintptr, w []cl.EventID) error {
		return cl.Status("clEnqueueCopyBuffer", q, m, target, uintptr(fromOffset), uintptr(toOffset), uintptr(size), uintptr(len(w)), uintptr(cl.Addr(w)), 0)
	})
}

// transfer checks what every transfer of a buffer needs. One of no bytes does nothing.
func (q *Queue) transfer(what string, b *Buffer, offset, size int, wait []*Event, do func(q, m uintptr, wait []cl.EventID) error) error {
	if offset < 0 || size < 0 || size > b.size-offset {
		return fmt.Errorf("%s: %w: %d bytes at %d, it has %d", what, ErrArgument, size, offset, b.size)
	}
	return q.with(what, &b.object, wait, func(q, m uintptr, wait []cl.EventID) error {
		if size == 0 {
			return waitFor(wait)
		}
		return do(q, m, wait)
	})
}

// with calls do with the handles of the queue, of memory, and of events.
func (q *Queue) with(what string, memory *object, wait []*Event, do func(q, m uintptr, wait []cl.EventID) error) error {
	h, err := q.get()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	m, err := memory.get()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	events, err := eventIDs(wait)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := do(h, m, events); err != nil {
		return fmt.Errorf("%s: %w", what, resources(err))
	}
	return nil
}
