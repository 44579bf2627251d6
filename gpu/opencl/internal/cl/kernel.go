package cl

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// CreateKernel makes the kernel of a name.
func CreateKernel(p ProgramID, name string) (KernelID, error) {
	h, err := clCreateKernel.Create(uintptr(p), uintptr(Addr(dl.CString(name))))
	return KernelID(h), err
}

// CreateKernelsInProgram makes all kernels of a program.
func CreateKernelsInProgram(p ProgramID) ([]KernelID, error) {
	return ids[KernelID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return clCreateKernelsInProgram.Status(uintptr(p), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// SetKernelArg sets an argument from size bytes at value, which is nil for
// local memory. It must not be called for one kernel by two goroutines at once.
func SetKernelArg(k KernelID, arg, size int, value unsafe.Pointer) error {
	return clSetKernelArg.Status(uintptr(k), uintptr(arg), uintptr(size), uintptr(value))
}

// EnqueueNDRangeKernel launches in dim dimensions. Local may be nil: the driver
// chooses. Offset may be nil: zero.
func EnqueueNDRangeKernel(q QueueID, k KernelID, dim int, offset, global, local *[3]uintptr, wait []EventID, event *EventID) error {
	return clEnqueueNDRangeKernel.Status(uintptr(q), uintptr(k), uintptr(dim), uintptr(unsafe.Pointer(offset)),
		uintptr(unsafe.Pointer(global)), uintptr(unsafe.Pointer(local)), uintptr(len(wait)), uintptr(Addr(wait)), uintptr(unsafe.Pointer(event)))
}
