package levelzero

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
)

// Local is an argument in local memory: its size in bytes.
type Local int

// pointerSize is that of a pointer on a device.
const pointerSize = 8

// setArg sets one argument. It must be called with the kernel's lock held.
func (k *Kernel) setArg(id ze.KernelID, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return ze.KernelSetArgumentValue(id, i, int(size), nil)
	}
	if b, ok := arg.(*Buffer); arg == nil || ok && b == nil {
		return ze.KernelSetArgumentValue(id, i, pointerSize, nil) // a null pointer on the device
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return ze.KernelSetArgumentValue(id, i, len(b), unsafe.Pointer(&b[0]))
}

// appendArg appends the bytes of an argument, as the device reads them.
//
// Integers and floats are as wide as their Go types; int and uint are refused, since
// OpenCL C's int has 32 bits. Bytes are taken as they are. Arrays and structures of
// numbers are encoded field by field without padding: write blank fields where the
// device's structure has it.
func appendArg(b []byte, arg any) ([]byte, error) {
	order := binary.NativeEndian
	switch v := arg.(type) {
	case *Buffer:
		at, err := v.get()
		return order.AppendUint64(b, uint64(at)), err
	case []byte:
		return append(b, v...), nil
	}
	switch t := reflect.TypeOf(arg); {
	case t.Kind() == reflect.Bool:
		return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
	case binary.Size(arg) < 0 || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer:
		return b, fmt.Errorf("%w: %v has no fixed size, pass int32, float32, []byte, an array, a structure of such, Local or *Buffer", ErrArgument, t)
	}
	return binary.Append(b, order, arg)
}
