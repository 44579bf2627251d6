package levelzero

import (
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
)

// Kernel is a kernel of a module. A ze_kernel_handle_t holds the arguments and the
// group size of its next launch, so launches of one Kernel follow each other: all of
// it is set, and the launch added to a list, under a lock of the Kernel's own.
type Kernel struct {
	module *Module
	name   string
	object

	mu     sync.Mutex
	values []byte // of the argument being set; reused
}

// NewKernel makes the kernel of a name; another name is an error that wraps
// InvalidKernelName. The caller releases it, before the module.
func (m *Module) NewKernel(name string) (*Kernel, error) {
	id, err := m.id()
	if err != nil {
		return nil, fmt.Errorf("make kernel %s: %w", name, err)
	}
	h, err := ze.KernelCreate(id, name)
	if err != nil {
		return nil, fmt.Errorf("make kernel %s: %w", name, resources(err))
	}
	k := &Kernel{module: m, name: name}
	k.set("kernel", uintptr(h))
	return k, nil
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// Handle returns the ze_kernel_handle_t; zero once it is released.
func (k *Kernel) Handle() uintptr { return k.handle.Load() }

func (k *Kernel) id() (ze.KernelID, error) {
	h, err := k.get()
	return ze.KernelID(h), err
}

// KernelInfo is what a kernel is; sizes are bytes.
type KernelInfo struct {
	Args         int
	Required     [3]int // the group size that it requires; zero where there is none
	SubGroup     int    // work-items in a sub-group, at most
	LocalMemory  int    // of a group
	PrivateBytes int    // of a work-item, in memory
	Spilled      int    // of a work-item, for want of registers
}

// Info asks the driver what the kernel is.
func (k *Kernel) Info() (KernelInfo, error) {
	id, err := k.id()
	if err != nil {
		return KernelInfo{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	p, err := ze.KernelGetProperties(id)
	if err != nil {
		return KernelInfo{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	info := KernelInfo{
		Args: int(p.Args), SubGroup: int(p.MaxSubGroupSize), LocalMemory: int(p.LocalMemory),
		PrivateBytes: int(p.PrivateMemory), Spilled: int(p.SpillMemory),
	}
	for i, n := range p.RequiredGroupSize {
		info.Required[i] = int(n)
	}
	return info, nil
}

// SuggestGroupSize asks the driver for the group size that is best for so many
// work-items in each dimension.
func (k *Kernel) SuggestGroupSize(items [3]int) ([3]int, error) {
	id, err := k.id()
	if err != nil {
		return [3]int{}, fmt.Errorf("suggest group size of %s: %w", k.name, err)
	}
	n, err := sizes(items)
	if err != nil {
		return [3]int{}, fmt.Errorf("suggest group size of %s: %w", k.name, err)
	}
	s, err := ze.KernelSuggestGroupSize(id, n)
	if err != nil {
		return [3]int{}, fmt.Errorf("suggest group size of %s: %w", k.name, err)
	}
	return [3]int{int(s[0]), int(s[1]), int(s[2])}, nil
}

// sizes returns three sizes as C takes them.
func sizes(n [3]int) (s [3]uint32, err error) {
	for i, v := range n {
		if v < 1 || v > 1<<32-1 {
			return s, fmt.Errorf("%w: %v", ErrArgument, n)
		}
		s[i] = uint32(v)
	}
	return s, nil
}

// SetIndirectAccess says whether the kernel reaches memory of the host, the device, and
// shared memory, by pointers that are not its arguments.
func (k *Kernel) SetIndirectAccess(host, device, shared bool) error {
	id, err := k.id()
	if err != nil {
		return fmt.Errorf("set indirect access of %s: %w", k.name, err)
	}
	var flags uint32
	for i, on := range []bool{host, device, shared} {
		if on {
			flags |= 1 << i
		}
	}
	if err := ze.KernelSetIndirectAccess(id, flags); err != nil {
		return fmt.Errorf("set indirect access of %s: %w", k.name, err)
	}
	return nil
}

// Release gives the kernel back.
func (k *Kernel) Release() error {
	return k.release(func(h uintptr) error { return ze.KernelDestroy(ze.KernelID(h)) })
}
