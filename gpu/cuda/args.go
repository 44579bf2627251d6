package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/kernelarg"
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
