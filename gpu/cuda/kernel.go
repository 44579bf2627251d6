package cuda

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/kernelarg"
)

// Kernel is a kernel of a module. It holds no arguments: it may be launched by
// many goroutines at once. It goes with its module.
type Kernel struct {
	module   *Module
	name     string
	function uintptr // CUfunction
	sizes    []int   // of the parameters
	sized    bool    // the driver told them
}

// Kernel returns the kernel of a name, or of a name expression that was asked
// for; another name is an error that wraps NotFound.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k := &Kernel{module: m, name: name}
	err := m.context.with("make kernel "+name, m.get, func(id uintptr) error {
		lowered := dl.Addr(dl.CString(m.LoweredName(name)))
		if err := call("cuModuleGetFunction", uintptr(unsafe.Pointer(&k.function)), id, uintptr(lowered)); err != nil {
			return err
		}
		k.sizes, k.sized = paramSizes(k.function)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// paramSizes returns the bytes of each parameter; ok is false where the
// library is older than CUDA 12.4, which cannot tell.
func paramSizes(function uintptr) (sizes []int, ok bool) {
	var offset, size uintptr
	for i := range maxParams {
		err := call("cuFuncGetParamInfo", function, uintptr(i), uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size)))
		switch {
		case errors.Is(err, InvalidValue):
			return sizes, true // there is no such parameter
		case err != nil:
			return nil, false
		}
		sizes = append(sizes, int(size))
	}
	return nil, false
}

// maxParams is more than fit the 32,764 bytes that a kernel's parameters can have.
const maxParams = 32 << 10

// Name returns the name by which the kernel was asked for.
func (k *Kernel) Name() string { return k.name }

// Handle returns the CUfunction.
func (k *Kernel) Handle() uintptr { return k.function }

// Params returns the bytes of each parameter; ok is false where the driver is
// older than CUDA 12.4, and does not tell.
func (k *Kernel) Params() (sizes []int, ok bool) { return k.sizes, k.sized }

// Resources are what a kernel needs; sizes are bytes.
type Resources struct {
	BlockThreads int // threads in a block at most
	Shared       int // of a block, without what a launch adds
	Constant     int
	Local        int // of a thread
	Registers    int // of a thread
	Binary       int // the architecture of its machine code: 90
}

// Resources asks the driver what the kernel needs.
func (k *Kernel) Resources() (r Resources, err error) {
	err = k.module.context.with("ask kernel "+k.name, k.module.get, func(uintptr) error {
		for to, a := range map[*int]functionAttribute{
			&r.BlockThreads: functionMaxThreads, &r.Shared: functionSharedSize, &r.Constant: functionConstSize,
			&r.Local: functionLocalSize, &r.Registers: functionRegisters, &r.Binary: functionBinaryVersion,
		} {
			var v int32
			if err := call("cuFuncGetAttribute", uintptr(unsafe.Pointer(&v)), uintptr(a), k.function); err != nil {
				return err
			}
			*to = int(v)
		}
		return nil
	})
	return r, err
}

// functionAttribute is a CUfunction_attribute.
type functionAttribute int32

const (
	functionMaxThreads       functionAttribute = 0
	functionSharedSize       functionAttribute = 1 // bytes, without what a launch adds
	functionConstSize        functionAttribute = 2
	functionLocalSize        functionAttribute = 3
	functionRegisters        functionAttribute = 4
	functionBinaryVersion    functionAttribute = 6
	functionMaxDynamicShared functionAttribute = 8
)

// SetSharedMemory lets launches of the kernel add up to size bytes of shared memory: more than
// Limits.SharedMemory must be asked for before a launch, up to Limits.SharedMemoryMax.
func (k *Kernel) SetSharedMemory(size int) error {
	return k.module.context.with("set kernel "+k.name, k.module.get, func(uintptr) error {
		return call("cuFuncSetAttribute", k.function, uintptr(functionMaxDynamicShared), uintptr(size))
	})
}

// Shape is how a kernel is launched.
type Shape struct {
	Grid   []int // blocks per dimension, one to three
	Block  []int // threads of a block per dimension, one to three
	Shared int   // bytes of shared memory of a block, besides what the kernel declares
}

// Launch queues the kernel over a grid of blocks. A nil stream is the context's default one.
// Arguments are in order, all of them: *Memory, Pointer, numbers of a fixed size (int32, float32,
// uint64, …; not int), bool, []byte, or arrays and structures of numbers. They are copied before
// Launch returns, memory excepted. Where the driver tells what the kernel's parameters are (from
// CUDA 12.4 on), other arguments are refused; where not, their sizes are the caller's matter.
func (k *Kernel) Launch(s *Stream, grid, block []int, args ...any) error {
	return k.LaunchShape(s, Shape{Grid: grid, Block: block}, args...)
}

// LaunchShape is Launch with a Shape.
func (k *Kernel) LaunchShape(s *Stream, shape Shape, args ...any) error {
	if err := k.launch(s, shape, args); err != nil {
		return fmt.Errorf("launch %s: %w", k.name, resources(err))
	}
	return nil
}

func (k *Kernel) launch(s *Stream, shape Shape, args []any) error {
	grid, err := dimensions(shape.Grid)
	if err != nil {
		return fmt.Errorf("grid: %w", err)
	}
	block, err := dimensions(shape.Block)
	if err != nil {
		return fmt.Errorf("block: %w", err)
	}
	if shape.Shared < 0 || shape.Shared > math.MaxInt32 {
		return fmt.Errorf("%w: %d bytes of shared memory", ErrArgument, shape.Shared)
	}
	if s == nil {
		s = k.module.context.DefaultStream()
	}
	stream, err := s.id()
	if err != nil {
		return err
	}
	if _, err := k.module.get(); err != nil {
		return err
	}
	context, err := k.module.context.get()
	if err != nil {
		return err
	}
	params, err := k.params(args)
	if err != nil {
		return err
	}
	var pin runtime.Pinner // of what params point to
	defer pin.Unpin()
	if len(params) > 0 {
		pin.Pin(params[0])
	}
	return current(context, func() error {
		return call("cuLaunchKernel", k.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			uintptr(shape.Shared), stream, uintptr(dl.Addr(params)), 0)
	})
}

// dimensions returns three sizes of one to three.
func dimensions(sizes []int) (d [3]uintptr, err error) {
	if len(sizes) < 1 || len(sizes) > len(d) {
		return d, fmt.Errorf("%w: %d dimensions", ErrArgument, len(sizes))
	}
	d = [3]uintptr{1, 1, 1}
	for i, n := range sizes {
		if n < 1 || n > math.MaxInt32 {
			return d, fmt.Errorf("%w: %v", ErrArgument, sizes)
		}
		d[i] = uintptr(n)
	}
	return d, nil
}

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
