package opencl

import (
	"cmp"
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

// NewBuffer makes a buffer of size bytes, whose content is undefined. The caller releases it.
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
	m, memoryErr := memory.get()
	events, eventErr := eventIDs(wait)
	if err = cmp.Or(err, memoryErr, eventErr); err == nil {
		err = resources(do(h, m, events))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ImageFormat says what a pixel is: its channels, and what each is.
type ImageFormat struct {
	Order ChannelOrder
	Type  ChannelType
}

// ChannelOrder is a cl_channel_order.
type ChannelOrder uint32

// ChannelType is a cl_channel_type.
type ChannelType uint32

// The orders and types that every device with images has (OpenCL 3.0, "Minimum
// List of Supported Image Formats"), and BGRA.
const (
	R    ChannelOrder = 0x10B0
	RG   ChannelOrder = 0x10B2
	RGBA ChannelOrder = 0x10B5
	BGRA ChannelOrder = 0x10B6

	UnormInt8     ChannelType = 0x10D2
	UnormInt16    ChannelType = 0x10D3
	SignedInt8    ChannelType = 0x10D7
	SignedInt16   ChannelType = 0x10D8
	SignedInt32   ChannelType = 0x10D9
	UnsignedInt8  ChannelType = 0x10DA
	UnsignedInt16 ChannelType = 0x10DB
	UnsignedInt32 ChannelType = 0x10DC
	HalfFloat     ChannelType = 0x10DD
	Float         ChannelType = 0x10DE
)

// pixel returns the bytes of a pixel; zero for a format that is not listed.
func (f ImageFormat) pixel() int {
	channels := map[ChannelOrder]int{R: 1, RG: 2, RGBA: 4, BGRA: 4}[f.Order]
	switch f.Type {
	case UnormInt8, SignedInt8, UnsignedInt8:
		return channels
	case UnormInt16, SignedInt16, UnsignedInt16, HalfFloat:
		return 2 * channels
	case SignedInt32, UnsignedInt32, Float:
		return 4 * channels
	}
	return 0
}

// imageDesc is a cl_image_desc.
type imageDesc struct {
	kind                         uint32
	width, height, depth, layers uintptr
	rowPitch, slicePitch         uintptr
	mipLevels, samples           uint32
	mem                          uintptr
}

// Image is an image of two dimensions.
type Image struct {
	format        ImageFormat
	width, height int
	object
}

// NewImage makes an image of width × height pixels, whose content is undefined.
// The caller releases it.
func (c *Context) NewImage(access Access, f ImageFormat, width, height int) (*Image, error) {
	if f.pixel() == 0 || width <= 0 || height <= 0 {
		return nil, fmt.Errorf("make image: %w: format %#x, %#x, %d × %d pixels", ErrArgument, f.Order, f.Type, width, height)
	}
	h, err := c.get()
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	pixels := &[2]uint32{uint32(f.Order), uint32(f.Type)} // a cl_image_format
	desc := &imageDesc{kind: cl.MemObjectImage2D, width: uintptr(width), height: uintptr(height)}
	id, err := cl.Create("clCreateImage", h, uintptr(access), uintptr(unsafe.Pointer(pixels)), uintptr(unsafe.Pointer(desc)), 0)
	if err != nil {
		return nil, fmt.Errorf("make image of %d × %d pixels: %w", width, height, resources(err))
	}
	m := &Image{format: f, width: width, height: height}
	m.set("image", id, "clReleaseMemObject")
	return m, nil
}

// Size returns the image's pixels in each direction.
func (m *Image) Size() (width, height int) { return m.width, m.height }

// Bytes returns the bytes of the whole image, its rows without gaps.
func (m *Image) Bytes() int { return m.width * m.height * m.format.pixel() }

// WriteImage copies data, the rows of the whole image without gaps, into the
// image, after the events of wait. It returns when data may be changed.
func (q *Queue) WriteImage(m *Image, data []byte, wait ...*Event) error {
	return q.transferImage("write image", "clEnqueueWriteImage", m, data, wait)
}

// ReadImage copies the rows of the whole image without gaps into data, after
// the events of wait. It returns when data is there.
func (q *Queue) ReadImage(m *Image, data []byte, wait ...*Event) error {
	return q.transferImage("read image", "clEnqueueReadImage", m, data, wait)
}

func (q *Queue) transferImage(what string, do string, m *Image, data []byte, wait []*Event) error {
	if len(data) != m.Bytes() {
		return fmt.Errorf("%s: %w: %d bytes, it has %d", what, ErrArgument, len(data), m.Bytes())
	}
	origin, region := new([3]uintptr), &[3]uintptr{uintptr(m.width), uintptr(m.height), 1}
	return q.with(what, &m.object, wait, func(q, m uintptr, wait []cl.EventID) error {
		return cl.Status(do, q, m, 1, uintptr(unsafe.Pointer(origin)), uintptr(unsafe.Pointer(region)),
			0, 0, uintptr(cl.Addr(data)), uintptr(len(wait)), uintptr(cl.Addr(wait)), 0)
	})
}
