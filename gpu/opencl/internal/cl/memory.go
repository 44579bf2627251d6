package cl

import "unsafe"

// MemID is a cl_mem.
type MemID uintptr

var (
	clCreateBuffer       = entry{name: "clCreateBuffer"}
	clReleaseMemObject   = entry{name: "clReleaseMemObject"}
	clEnqueueReadBuffer  = entry{name: "clEnqueueReadBuffer"}
	clEnqueueWriteBuffer = entry{name: "clEnqueueWriteBuffer"}
	clEnqueueCopyBuffer  = entry{name: "clEnqueueCopyBuffer"}
	clEnqueueFillBuffer  = entry{name: "clEnqueueFillBuffer"}
)

// CreateBuffer makes a buffer of size bytes, with no host memory.
func CreateBuffer(c ContextID, flags uint64, size int) (MemID, error) {
	code := new(Code)
	h, err := clCreateBuffer.create(code, uintptr(c), uintptr(flags), uintptr(size), 0, uintptr(unsafe.Pointer(code)))
	return MemID(h), err
}

// ReleaseMemObject counts one user less.
func ReleaseMemObject(m MemID) error { return clReleaseMemObject.status(uintptr(m)) }

// EnqueueReadBuffer reads len(b) bytes from offset, and waits for them.
func EnqueueReadBuffer(q QueueID, m MemID, offset int, b []byte, wait []EventID, event *EventID) error {
	return clEnqueueReadBuffer.status(uintptr(q), uintptr(m), 1, uintptr(offset), uintptr(len(b)), uintptr(addr(b)),
		uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}

// EnqueueWriteBuffer writes b at offset, and waits until b was read.
func EnqueueWriteBuffer(q QueueID, m MemID, offset int, b []byte, wait []EventID, event *EventID) error {
	return clEnqueueWriteBuffer.status(uintptr(q), uintptr(m), 1, uintptr(offset), uintptr(len(b)), uintptr(addr(b)),
		uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}

// EnqueueCopyBuffer copies size bytes between buffers.
func EnqueueCopyBuffer(q QueueID, from, to MemID, fromOffset, toOffset, size int, wait []EventID, event *EventID) error {
	return clEnqueueCopyBuffer.status(uintptr(q), uintptr(from), uintptr(to), uintptr(fromOffset), uintptr(toOffset), uintptr(size),
		uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}

// EnqueueFillBuffer repeats a pattern over size bytes from offset. The driver
// copies the pattern before it returns.
func EnqueueFillBuffer(q QueueID, m MemID, pattern []byte, offset, size int, wait []EventID, event *EventID) error {
	return clEnqueueFillBuffer.status(uintptr(q), uintptr(m), uintptr(addr(pattern)), uintptr(len(pattern)), uintptr(offset), uintptr(size),
		uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}
