package cl

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// KernelID is a cl_kernel.
type KernelID uintptr

var (
	clCreateKernel           = entry{name: "clCreateKernel"}
	clCreateKernelsInProgram = entry{name: "clCreateKernelsInProgram"}
	clGetKernelInfo          = entry{name: "clGetKernelInfo"}
	clGetKernelArgInfo       = entry{name: "clGetKernelArgInfo"}
	clGetKernelWorkGroupInfo = entry{name: "clGetKernelWorkGroupInfo"}
	clSetKernelArg           = entry{name: "clSetKernelArg"}
	clEnqueueNDRangeKernel   = entry{name: "clEnqueueNDRangeKernel"}
	clReleaseKernel          = entry{name: "clReleaseKernel"}
)

// CreateKernel makes the kernel of a name.
func CreateKernel(p ProgramID, name string) (KernelID, error) {
	code := new(Code)
	h, err := clCreateKernel.create(code, uintptr(p), uintptr(addr(dl.CString(name))), uintptr(unsafe.Pointer(code)))
	return KernelID(h), err
}

// CreateKernelsInProgram makes all kernels of a program.
func CreateKernelsInProgram(p ProgramID) ([]KernelID, error) {
	return ids[KernelID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return clCreateKernelsInProgram.status(uintptr(p), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// GetKernelInfo returns the value of a parameter.
func GetKernelInfo(k KernelID, param uint32) ([]byte, error) {
	return clGetKernelInfo.info(param, uintptr(k))
}

// GetKernelArgInfo returns the value of a parameter of an argument.
func GetKernelArgInfo(k KernelID, arg int, param uint32) ([]byte, error) {
	return clGetKernelArgInfo.info(param, uintptr(k), uintptr(arg))
}

// GetKernelWorkGroupInfo returns the value of a parameter on a device.
func GetKernelWorkGroupInfo(k KernelID, d DeviceID, param uint32) ([]byte, error) {
	return clGetKernelWorkGroupInfo.info(param, uintptr(k), uintptr(d))
}

// SetKernelArg sets an argument from size bytes at value, which is nil for
// local memory. It must not be called for one kernel by two goroutines at once.
func SetKernelArg(k KernelID, arg, size int, value unsafe.Pointer) error {
	return clSetKernelArg.status(uintptr(k), uintptr(arg), uintptr(size), uintptr(value))
}

// EnqueueNDRangeKernel launches in dim dimensions. Local may be nil: the driver
// chooses. Offset may be nil: zero.
func EnqueueNDRangeKernel(q QueueID, k KernelID, dim int, offset, global, local *[3]uintptr, wait []EventID, event *EventID) error {
	return clEnqueueNDRangeKernel.status(uintptr(q), uintptr(k), uintptr(dim), uintptr(unsafe.Pointer(offset)),
		uintptr(unsafe.Pointer(global)), uintptr(unsafe.Pointer(local)), uintptr(len(wait)), uintptr(addr(wait)), uintptr(unsafe.Pointer(event)))
}

// ReleaseKernel counts one user less.
func ReleaseKernel(k KernelID) error { return clReleaseKernel.status(uintptr(k)) }
