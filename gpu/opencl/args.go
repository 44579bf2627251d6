package opencl

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// Local is an argument in local memory: its size in bytes.
type Local int

// setArg sets one argument. It must be called with the kernel's lock held.
func (k *Kernel) setArg(id cl.KernelID, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return cl.SetKernelArg(id, i, int(size), nil)
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return cl.SetKernelArg(id, i, len(b), unsafe.Pointer(&b[0]))
}

// appendArg appends the bytes of an argument, as the device reads them.
//
// Integers and floats are as wide as their Go types; int and uint are refused,
// since OpenCL C's int has 32 bits. Bytes are taken as they are. Arrays and
// structures of numbers are encoded field by field without padding: write
// blank fields where the device's structure has it.
func appendArg(b []byte, arg any) ([]byte, error) {
	order := binary.NativeEndian
	switch v := arg.(type) {
	case *Buffer:
		return appendMem(b, v != nil, func() (uintptr, error) { return v.get() })
	case *Image:
		return appendMem(b, v != nil, func() (uintptr, error) { return v.get() })
	case int32:
		return order.AppendUint32(b, uint32(v)), nil
	case uint32:
		return order.AppendUint32(b, v), nil
	case float32:
		return order.AppendUint32(b, math.Float32bits(v)), nil
	case int64:
		return order.AppendUint64(b, uint64(v)), nil
	case uint64:
		return order.AppendUint64(b, v), nil
	case float64:
		return order.AppendUint64(b, math.Float64bits(v)), nil
	case []byte:
		return append(b, v...), nil
	}
	switch t := reflect.TypeOf(arg); {
	case t == nil:
		// A NULL buffer: the argument is a null pointer on the device.
		return order.AppendUint64(b, 0), nil
	case t.Kind() == reflect.Bool:
		return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
	case binary.Size(arg) < 0 || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer:
		return b, fmt.Errorf("%w: %v has no fixed size, pass int32, float32, []byte, an array, a structure of such, Local, *Buffer or *Image", ErrArgument, t)
	}
	return binary.Append(b, order, arg)
}

func appendMem(b []byte, there bool, get func() (uintptr, error)) ([]byte, error) {
	if !there {
		return binary.NativeEndian.AppendUint64(b, 0), nil
	}
	h, err := get()
	if err != nil {
		return b, err
	}
	return binary.NativeEndian.AppendUint64(b, uint64(h)), nil
}
