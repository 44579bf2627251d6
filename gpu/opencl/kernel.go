package opencl

import (
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/dl"
)

// Kernel is a kernel of a program. A cl_kernel holds the arguments of its next
// launch, so launches of one Kernel follow each other: arguments are set and
// the launch is queued under a lock of the Kernel's own.
type Kernel struct {
	program *Program
	name    string
	object

	mu       sync.Mutex
	values   []byte // of the argument being set; reused
	space    [3][3]uintptr
	launches pocl.Launches
}

// NewKernel makes the kernel of a name; another name is an error that wraps
// InvalidKernelName. The caller releases it, before the program.
func (p *Program) NewKernel(name string) (*Kernel, error) {
	h, err := p.get()
	if err != nil {
		return nil, fmt.Errorf("make kernel %s: %w", name, err)
	}
	id, err := cl.Create("clCreateKernel", h, uintptr(cl.Addr(dl.CString(name))))
	if err != nil {
		return nil, fmt.Errorf("make kernel %s: %w", name, resources(err))
	}
	k := &Kernel{program: p, name: name}
	k.set("kernel", id, "clReleaseKernel")
	return k, nil
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// WorkGroup is what a kernel can do on its device.
type WorkGroup struct {
	Size        int    // work-items in a group at most
	Multiple    int    // the group size should be a multiple of this
	Required    [3]int // reqd_work_group_size; zero where there is none
	LocalMemory uint64 // bytes that a group uses
}

// WorkGroup asks the driver what groups the kernel can have on its program's
// first device.
func (k *Kernel) WorkGroup() (WorkGroup, error) {
	h, err := k.get()
	if err != nil {
		return WorkGroup{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	d := uintptr(k.program.devices[0].id())
	b, err := cl.Info("clGetKernelWorkGroupInfo", cl.KernelWorkGroupSize, h, d)
	if err != nil {
		return WorkGroup{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	size, _ := cl.Number(b, nil)
	multiple, _ := cl.Number(cl.Info("clGetKernelWorkGroupInfo", cl.KernelPreferredWorkGroupSize, h, d))
	w := WorkGroup{Size: int(size), Multiple: int(multiple)}
	w.LocalMemory, _ = cl.Number(cl.Info("clGetKernelWorkGroupInfo", cl.KernelLocalMemSize, h, d))
	w.Required = cl.Sizes(cl.Info("clGetKernelWorkGroupInfo", cl.KernelCompileWorkGroupSize, h, d))
	return w, nil
}
