package cl

import "unsafe"

// CreateKernelsInProgram makes all kernels of a program.
func CreateKernelsInProgram(p ProgramID) ([]KernelID, error) {
	return ids[KernelID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clCreateKernelsInProgram", uintptr(p), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}
