package cuda

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/internal/kernelarg"
)

// argAlign is the largest alignment that a parameter can need.
const argAlign = 16

// params encodes the arguments of a launch, and returns the address of each.
func (k *Kernel) params(args []any) ([]unsafe.Pointer, error) {
	if k.sized && len(args) != len(k.sizes) {
		return nil, fmt.Errorf("%w: %d arguments, the kernel has %d parameters", ErrArgument, len(args), len(k.sizes))
	}
	var values []byte
	offsets := make([]int, len(args))
	for i, arg := range args {
		for len(values)%argAlign != 0 {
			values = append(values, 0)
		}
		from := len(values)
		b, err := appendArg(values, arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		values, offsets[i] = b, from
		if n := len(b) - from; k.sized && n != k.sizes[i] {
			return nil, fmt.Errorf("argument %d: %w: %T has %d bytes, the parameter has %d", i, ErrArgument, arg, n, k.sizes[i])
		}
		if len(b) == from {
			return nil, fmt.Errorf("argument %d: %w: no bytes", i, ErrArgument)
		}
	}
	params := make([]unsafe.Pointer, len(args))
	for i, at := range offsets {
		params[i] = unsafe.Pointer(&values[at])
	}
	return params, nil
}

// appendArg appends the bytes of an argument, as kernelarg.Append does; of memory the
// device's address, and of nil a null pointer.
func appendArg(b []byte, arg any) ([]byte, error) {
	switch v := arg.(type) {
	case nil:
		return kernelarg.Pointer(b, 0), nil
	case *Memory:
		if v == nil {
			return kernelarg.Pointer(b, 0), nil
		}
		h, err := v.get()
		return kernelarg.Pointer(b, uintptr(h)), err
	case Pointer:
		return kernelarg.Pointer(b, uintptr(v)), nil
	}
	return kernelarg.Append(b, arg, ErrArgument, "Pointer or *Memory")
}
