package cl

import "unsafe"

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
