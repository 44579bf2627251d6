package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// frame holds the arguments of one launch, until the driver has copied them.
type frame struct {
	values  []byte
	offsets []int
	params  []unsafe.Pointer
	pin     runtime.Pinner
}

var frames = sync.Pool{New: func() any { return &frame{values: make([]byte, 0, 256)} }}

// argAlign is the largest alignment that a parameter can need.
const argAlign = 16

// fill encodes the arguments and pins them.
func (f *frame) fill(k *Kernel, args []any) error {
	if k.sized && len(args) != len(k.sizes) {
		return fmt.Errorf("%w: %d arguments, the kernel has %d parameters", ErrArgument, len(args), len(k.sizes))
	}
	f.values, f.offsets, f.params = f.values[:0], f.offsets[:0], f.params[:0]
	for i, arg := range args {
		for len(f.values)%argAlign != 0 {
			f.values = append(f.values, 0)
		}
		from := len(f.values)
		b, err := appendArg(f.values, arg)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		f.values, f.offsets = b, append(f.offsets, from)
		if n := len(b) - from; k.sized && n != k.sizes[i] {
			return fmt.Errorf("argument %d: %w: %T has %d bytes, the parameter has %d", i, ErrArgument, arg, n, k.sizes[i])
		}
		if len(b) == from {
			return fmt.Errorf("argument %d: %w: no bytes", i, ErrArgument)
		}
	}
	if len(args) == 0 {
		return nil
	}
	f.pin.Pin(&f.values[0])
	for _, at := range f.offsets {
		f.params = append(f.params, unsafe.Pointer(&f.values[at]))
	}
	return nil
}

// done gives the frame back.
func (f *frame) done() {
	f.pin.Unpin()
	clear(f.params)
	if cap(f.values) <= maxFrame {
		frames.Put(f)
	}
}

const maxFrame = 64 << 10

// appendArg appends the bytes of an argument, as the device reads them.
//
// Integers and floats are as wide as their Go types; int and uint are refused,
// since C's int has 32 bits. Bytes are taken as they are. Arrays and structures of
// numbers are encoded field by field without padding: write blank fields where
// the device's structure has it.
func appendArg(b []byte, arg any) ([]byte, error) {
	order := binary.NativeEndian
	switch v := arg.(type) {
	case *Memory:
		if v == nil {
			return order.AppendUint64(b, 0), nil
		}
		h, err := v.get()
		return order.AppendUint64(b, uint64(h)), err
	case Pointer:
		return order.AppendUint64(b, uint64(v)), nil
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
		return order.AppendUint64(b, 0), nil // a null pointer
	case binary.Size(arg) < 0 || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer:
		return b, fmt.Errorf("%w: %v has no fixed size, pass int32, float32, []byte, an array, a structure of such, Pointer or *Memory", ErrArgument, t)
	}
	return binary.Append(b, order, arg)
}
