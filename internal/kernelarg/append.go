// Package kernelarg encodes the values that a kernel is launched with, for every runtime.
package kernelarg

import (
	"encoding/binary"
	"fmt"
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
	if v, ok := arg.([]byte); ok {
		return append(b, v...), nil
	}
	t := reflect.TypeOf(arg)
	if t == nil || binary.Size(arg) < 0 || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return b, fmt.Errorf("%w: %v has no fixed size, pass int32, float32, []byte, an array, a structure of such, %s", refused, t, others)
	}
	return binary.Append(b, binary.NativeEndian, arg)
}

// Pointer appends a pointer of the device to b; 0 is a null pointer.
func Pointer(b []byte, at uintptr) []byte { return binary.NativeEndian.AppendUint64(b, uint64(at)) }
