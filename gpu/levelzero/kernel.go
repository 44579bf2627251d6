package levelzero

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/kernelarg"
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
	k := &Kernel{module: m, name: name}
	return made(k, m.do("make kernel "+name, func(id uintptr) error {
		c := dl.CString(name)
		var pinned runtime.Pinner
		pinned.Pin(&c[0])
		defer pinned.Unpin()
		desc := &struct {
			header
			flags uint32
			name  unsafe.Pointer
		}{header: header{stype: stypeKernelDesc}, name: dl.Addr(c)}
		h, err := ze("zeKernelCreate").create(id, uintptr(unsafe.Pointer(desc)))
		k.set("kernel", h, destroy("zeKernelDestroy"))
		return err
	}))
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// KernelInfo is what a kernel is; sizes are bytes.
type KernelInfo struct {
	Args         int
	Required     [3]int // the group size that it requires; zero where there is none
	SubGroup     int    // work-items in a sub-group, at most
	LocalMemory  int    // of a group
	PrivateBytes int    // of a work-item, in memory
	Spilled      int    // of a work-item, for want of registers
}

// kernelProperties is ze_kernel_properties_t.
type kernelProperties struct {
	header
	args                                    uint32
	requiredGroupSize                       [3]uint32
	_, _                                    uint32 // sub-groups that it requires, and their size
	maxSubGroupSize, _                      uint32
	localMemory, privateMemory, spillMemory uint32
	_                                       [32]byte
}

// Info asks the driver what the kernel is.
func (k *Kernel) Info() (info KernelInfo, err error) {
	err = k.do("ask kernel "+k.name, func(id uintptr) error {
		p, err := properties[kernelProperties](ze("zeKernelGetProperties"), stypeKernelProperties, id)
		if err != nil {
			return err
		}
		info = KernelInfo{
			Args: int(p.args), SubGroup: int(p.maxSubGroupSize), LocalMemory: int(p.localMemory),
			PrivateBytes: int(p.privateMemory), Spilled: int(p.spillMemory),
		}
		for i, n := range p.requiredGroupSize {
			info.Required[i] = int(n)
		}
		return nil
	})
	return info, err
}

// SuggestGroupSize asks the driver for the group size that is best for so many
// work-items in each dimension.
func (k *Kernel) SuggestGroupSize(items [3]int) (size [3]int, err error) {
	err = k.do("suggest group size of "+k.name, func(id uintptr) error {
		n, err := sizes(items)
		if err != nil {
			return err
		}
		var s [3]uint32
		err = ze("zeKernelSuggestGroupSize").call(id, uintptr(n[0]), uintptr(n[1]), uintptr(n[2]),
			uintptr(unsafe.Pointer(&s[0])), uintptr(unsafe.Pointer(&s[1])), uintptr(unsafe.Pointer(&s[2])))
		size = [3]int{int(s[0]), int(s[1]), int(s[2])}
		return err
	})
	return size, err
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

// SetIndirectAccess reports whether the kernel reaches memory of the host, the device, and
// shared memory, by pointers that are not its arguments.
func (k *Kernel) SetIndirectAccess(host, device, shared bool) error {
	var flags uintptr
	for i, on := range []bool{host, device, shared} {
		if on {
			flags |= 1 << i
		}
	}
	return k.do("set indirect access of "+k.name, func(id uintptr) error {
		return ze("zeKernelSetIndirectAccess").call(id, flags)
	})
}

// Local is an argument in local memory: its size in bytes.
type Local int

// pointerSize is that of a pointer on a device.
const pointerSize = 8

// setArg sets one argument. It must be called with the kernel's lock held.
func (k *Kernel) setArg(id uintptr, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return ze("zeKernelSetArgumentValue").call(id, uintptr(i), uintptr(size), 0)
	}
	if b, ok := arg.(*Buffer); arg == nil || ok && b == nil {
		return ze("zeKernelSetArgumentValue").call(id, uintptr(i), pointerSize, 0) // a null pointer on the device
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return ze("zeKernelSetArgumentValue").call(id, uintptr(i), uintptr(len(b)), uintptr(dl.Addr(b)))
}

// appendArg appends the bytes of an argument, as kernelarg.Append does; of a buffer the
// device's address.
func appendArg(b []byte, arg any) ([]byte, error) {
	if v, ok := arg.(*Buffer); ok {
		at, err := v.get()
		return kernelarg.Pointer(b, at), err
	}
	if reflect.TypeOf(arg).Kind() == reflect.Bool {
		return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
	}
	return kernelarg.Append(b, arg, ErrArgument, "Local or *Buffer")
}
