package cl

import "errors"

// CreateCommandQueueWithProperties makes a queue with the bits of
// CL_QUEUE_PROPERTIES. It calls clCreateCommandQueue where the loader is older
// than OpenCL 2.0.
func CreateCommandQueueWithProperties(c ContextID, d DeviceID, bits uint64) (QueueID, error) {
	var properties []uintptr
	if bits != 0 {
		properties = []uintptr{QueueProperties, uintptr(bits), 0}
	}
	h, err := Create("clCreateCommandQueueWithProperties", uintptr(c), uintptr(d), uintptr(Addr(properties)))
	if errors.Is(err, ErrMissing) {
		h, err = Create("clCreateCommandQueue", uintptr(c), uintptr(d), uintptr(bits))
	}
	return QueueID(h), err
}
