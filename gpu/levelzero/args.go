package levelzero

import (
	"fmt"
	"reflect"

	"github.com/kernstash/kernstash/internal/kernelarg"
)

// Local is an argument in local memory: its size in bytes.
type Local int

// pointerSize is that of a pointer on a device.
const pointerSize = 8

// setArg sets one argument. It must be called with the kernel's lock held.
func (k *Kernel) setArg(id uintptr, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return ze("zeKernelSetArgumentValue").call(id, uintptr(i), uintptr(size), 0)
	}
	if b, ok := arg.(*Buffer); arg == nil || ok && b == nil {
		return ze("zeKernelSetArgumentValue").call(id, uintptr(i), pointerSize, 0) // a null pointer on the device
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return ze("zeKernelSetArgumentValue").call(id, uintptr(i), uintptr(len(b)), uintptr(addr(b)))
}

// appendArg appends the bytes of an argument, as kernelarg.Append does; of a buffer the
// device's address.
func appendArg(b []byte, arg any) ([]byte, error) {
	if v, ok := arg.(*Buffer); ok {
		at, err := v.get()
		return kernelarg.Pointer(b, at), err
	}
	if reflect.TypeOf(arg).Kind() == reflect.Bool {
		return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
	}
	return kernelarg.Append(b, arg, ErrArgument, "Local or *Buffer")
}
