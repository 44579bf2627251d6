package cl

// The handles of objects: cl_platform_id, cl_device_id, cl_context and so on.
type (
	PlatformID uintptr
	DeviceID   uintptr
	ContextID  uintptr
	QueueID    uintptr
	ProgramID  uintptr
	KernelID   uintptr
	EventID    uintptr
)
