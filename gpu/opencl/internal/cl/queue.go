package cl

import (
	"errors"
	"unsafe"
)

// QueueID is a cl_command_queue.
type QueueID uintptr

var (
	clCreateCommandQueueWithProperties = entry{name: "clCreateCommandQueueWithProperties"}
	clCreateCommandQueue               = entry{name: "clCreateCommandQueue"}
	clRetainCommandQueue               = entry{name: "clRetainCommandQueue"}
	clReleaseCommandQueue              = entry{name: "clReleaseCommandQueue"}
	clFlush                            = entry{name: "clFlush"}
	clFinish                           = entry{name: "clFinish"}
)

// CreateCommandQueueWithProperties makes a queue with the bits of
// CL_QUEUE_PROPERTIES. It calls clCreateCommandQueue where the loader is older
// than OpenCL 2.0.
func CreateCommandQueueWithProperties(c ContextID, d DeviceID, bits uint64) (QueueID, error) {
	code := new(Code)
	var properties []uintptr
	if bits != 0 {
		properties = []uintptr{QueueProperties, uintptr(bits), 0}
	}
	h, err := clCreateCommandQueueWithProperties.create(code, uintptr(c), uintptr(d), uintptr(addr(properties)), uintptr(unsafe.Pointer(code)))
	if errors.Is(err, ErrMissing) {
		h, err = clCreateCommandQueue.create(code, uintptr(c), uintptr(d), uintptr(bits), uintptr(unsafe.Pointer(code)))
	}
	return QueueID(h), err
}

// RetainCommandQueue counts one user more.
func RetainCommandQueue(q QueueID) error { return clRetainCommandQueue.status(uintptr(q)) }

// ReleaseCommandQueue counts one user less.
func ReleaseCommandQueue(q QueueID) error { return clReleaseCommandQueue.status(uintptr(q)) }

// Flush submits what is queued.
func Flush(q QueueID) error { return clFlush.status(uintptr(q)) }

// Finish waits for what is queued.
func Finish(q QueueID) error { return clFinish.status(uintptr(q)) }
