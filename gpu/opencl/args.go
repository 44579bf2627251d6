package opencl

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/kernelarg"
)

// Local is an argument in local memory: its size in bytes.
type Local int

// setArg sets one argument. The caller holds the kernel's lock: that function alone must not be
// called for one object by two threads at once.
func (k *Kernel) setArg(id cl.KernelID, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return cl.Status("clSetKernelArg", uintptr(id), uintptr(i), uintptr(size), 0)
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return cl.Status("clSetKernelArg", uintptr(id), uintptr(i), uintptr(len(b)), uintptr(unsafe.Pointer(&b[0])))
}

// appendArg appends the bytes of an argument, as kernelarg.Append does; of a buffer or an
// image its handle, and of nil a null pointer on the device.
func appendArg(b []byte, arg any) ([]byte, error) {
	switch v := arg.(type) {
	case nil:
		return kernelarg.Pointer(b, 0), nil
	case *Buffer:
		return appendMem(b, v != nil, func() (uintptr, error) { return v.get() })
	case *Image:
		return appendMem(b, v != nil, func() (uintptr, error) { return v.get() })
	}
	if reflect.TypeOf(arg).Kind() == reflect.Bool {
		return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
	}
	return kernelarg.Append(b, arg, ErrArgument, "Local, *Buffer or *Image")
}

func appendMem(b []byte, there bool, get func() (uintptr, error)) ([]byte, error) {
	if !there {
		return kernelarg.Pointer(b, 0), nil
	}
	h, err := get()
	if err != nil {
		return b, err
	}
	return kernelarg.Pointer(b, h), nil
}
