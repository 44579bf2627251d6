package cl

import "unsafe"

// ImageFormat is a cl_image_format.
type ImageFormat struct{ Order, DataType uint32 }

// imageDesc is a cl_image_desc.
type imageDesc struct {
	kind                         uint32
	width, height, depth, layers uintptr
	rowPitch, slicePitch         uintptr
	mipLevels, samples           uint32
	mem                          MemID
}

var (
	clCreateImage       = entry{name: "clCreateImage"}
	clEnqueueReadImage  = entry{name: "clEnqueueReadImage"}
	clEnqueueWriteImage = entry{name: "clEnqueueWriteImage"}
)

// CreateImage makes an image of two dimensions, with no host memory.
func CreateImage(c ContextID, flags uint64, format ImageFormat, width, height int) (MemID, error) {
	code := new(Code)
	desc := &imageDesc{kind: MemObjectImage2D, width: uintptr(width), height: uintptr(height)}
	h, err := clCreateImage.create(code, uintptr(c), uintptr(flags), uintptr(unsafe.Pointer(&format)), uintptr(unsafe.Pointer(desc)),
		0, uintptr(unsafe.Pointer(code)))
	return MemID(h), err
}

// EnqueueReadImage reads a region whose rows follow each other in b without
// gaps, and waits for it.
func EnqueueReadImage(q QueueID, m MemID, origin, region [3]uintptr, b []byte, wait []EventID, event *EventID) error {
	return clEnqueueReadImage.status(uintptr(q), uintptr(m), 1, uintptr(unsafe.Pointer(&origin)), uintptr(unsafe.Pointer(&region)),
		0, 0, uintptr(addr(b)), uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}

// EnqueueWriteImage writes a region whose rows follow each other in b without
// gaps, and waits until b was read.
func EnqueueWriteImage(q QueueID, m MemID, origin, region [3]uintptr, b []byte, wait []EventID, event *EventID) error {
	return clEnqueueWriteImage.status(uintptr(q), uintptr(m), 1, uintptr(unsafe.Pointer(&origin)), uintptr(unsafe.Pointer(&region)),
		0, 0, uintptr(addr(b)), uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}
