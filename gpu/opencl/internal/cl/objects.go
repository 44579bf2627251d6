package cl

// The handles of objects: cl_platform_id, cl_device_id, cl_context and so on.
type (
	PlatformID uintptr
	DeviceID   uintptr
	ContextID  uintptr
	QueueID    uintptr
	MemID      uintptr
	ProgramID  uintptr
	KernelID   uintptr
	EventID    uintptr
)

// CreateBuffer makes a buffer of size bytes, with no host memory.
func CreateBuffer(c ContextID, flags uint64, size int) (MemID, error) {
	h, err := clCreateBuffer.Create(uintptr(c), uintptr(flags), uintptr(size), 0)
	return MemID(h), err
}
