package cuda

import (
	"errors"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
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
		lowered := addr(dl.CString(m.LoweredName(name)))
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

// SetSharedMemory lets launches of the kernel add up to size bytes of shared
// memory: more than Limits.SharedMemory must be asked for before a launch, up to
// Limits.SharedMemoryMax.
func (k *Kernel) SetSharedMemory(size int) error {
	return k.module.context.with("set kernel "+k.name, k.module.get, func(uintptr) error {
		return call("cuFuncSetAttribute", k.function, uintptr(functionMaxDynamicShared), uintptr(size))
	})
}
