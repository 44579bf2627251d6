// Package kernelarg encodes the values that a kernel is launched with, for every
// runtime.
package kernelarg

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
)

// Append appends the bytes of an argument to b, as the device reads them.
//
// Integers and floats are as wide as their Go types; int and uint are refused, since
// C's int has 32 bits on a device. Bytes are taken as they are. Arrays and structures of
// numbers are encoded field by field without padding: write blank fields where the
// device's structure has it. For nothing else there are bytes: the error wraps refused,
// and ends with the names in others, of what the runtime takes besides.
func Append(b []byte, arg any, refused error, others string) ([]byte, error) {
	order := binary.NativeEndian
	switch v := arg.(type) {
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
	t := reflect.TypeOf(arg)
	if t == nil || binary.Size(arg) < 0 || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return b, fmt.Errorf("%w: %v has no fixed size, pass int32, float32, []byte, an array, a structure of such, %s", refused, t, others)
	}
	return binary.Append(b, order, arg)
}

// Pointer appends a pointer of the device to b; 0 is a null pointer.
func Pointer(b []byte, at uintptr) []byte { return binary.NativeEndian.AppendUint64(b, uint64(at)) }
