package cuda

import (
	"fmt"

	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
)

// Kernel is a kernel of a module. It holds no arguments: it may be launched by
// many goroutines at once. It goes with its module.
type Kernel struct {
	module   *Module
	context  *Context
	name     string
	function cu.Function
	sizes    []int // of the parameters
	sized    bool  // the driver told them
}

// Kernel returns the kernel of a name, or of a name expression that was asked
// for; another name is an error that wraps NotFound.
func (m *Module) Kernel(name string) (*Kernel, error) {
	id, err := m.get()
	if err != nil {
		return nil, fmt.Errorf("make kernel %s: %w", name, err)
	}
	k := &Kernel{module: m, context: m.context, name: name}
	err = m.context.within("make kernel "+name, func() (err error) {
		if k.function, err = cu.ModuleGetFunction(cu.Module(id), m.LoweredName(name)); err == nil {
			k.sizes, k.sized = cu.FuncParamSizes(k.function)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Name returns the name by which the kernel was asked for.
func (k *Kernel) Name() string { return k.name }

// Handle returns the CUfunction.
func (k *Kernel) Handle() uintptr { return uintptr(k.function) }

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
	if _, err := k.module.get(); err != nil {
		return r, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	err = k.context.within("ask kernel "+k.name, func() error {
		for to, a := range map[*int]cu.FunctionAttribute{
			&r.BlockThreads: cu.FunctionMaxThreadsPerBlock, &r.Shared: cu.FunctionSharedSize, &r.Constant: cu.FunctionConstSize,
			&r.Local: cu.FunctionLocalSize, &r.Registers: cu.FunctionRegisters, &r.Binary: cu.FunctionBinaryVersion,
		} {
			var err error
			if *to, err = cu.FuncGetAttribute(a, k.function); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

// SetSharedMemory lets launches of the kernel add up to size bytes of shared
// memory: more than Limits.SharedMemory must be asked for before a launch, up to
// Limits.SharedMemoryMax.
func (k *Kernel) SetSharedMemory(size int) error {
	if _, err := k.module.get(); err != nil {
		return fmt.Errorf("set kernel %s: %w", k.name, err)
	}
	return k.context.within("set kernel "+k.name, func() error {
		return cu.FuncSetAttribute(k.function, cu.FunctionMaxDynamicShared, size)
	})
}
