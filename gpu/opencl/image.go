package opencl

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

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
