package opencl

import (
	"cmp"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/kernelarg"
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

// WorkGroup asks the driver what groups the kernel can have on its program's first device.
func (k *Kernel) WorkGroup() (WorkGroup, error) {
	h, err := k.get()
	if err != nil {
		return WorkGroup{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	ask := func(param uint32) ([]byte, error) {
		return cl.Info("clGetKernelWorkGroupInfo", param, h, uintptr(k.program.devices[0].id()))
	}
	b, err := ask(cl.KernelWorkGroupSize)
	if err != nil {
		return WorkGroup{}, fmt.Errorf("ask kernel %s: %w", k.name, err)
	}
	size, _ := cl.Number(b, nil)
	multiple, _ := cl.Number(ask(cl.KernelPreferredWorkGroupSize))
	w := WorkGroup{Size: int(size), Multiple: int(multiple), Required: cl.Sizes(ask(cl.KernelCompileWorkGroupSize))}
	w.LocalMemory, _ = cl.Number(ask(cl.KernelLocalMemSize))
	return w, nil
}

// Local is an argument in local memory: its size in bytes.
type Local int

// setArg sets one argument. The caller holds the kernel's lock: that function alone must not be
// called for one object by two threads at once.
func (k *Kernel) setArg(kernel uintptr, i int, arg any) error {
	if size, ok := arg.(Local); ok {
		return cl.Status("clSetKernelArg", kernel, uintptr(i), uintptr(size), 0)
	}
	b, err := appendArg(k.values[:0], arg)
	if err != nil {
		return err
	}
	k.values = b
	if len(b) == 0 {
		return fmt.Errorf("%w: no bytes", ErrArgument)
	}
	return cl.Status("clSetKernelArg", kernel, uintptr(i), uintptr(len(b)), uintptr(unsafe.Pointer(&b[0])))
}

// appendArg appends the bytes of an argument, as kernelarg.Append does; of a buffer or an
// image its handle, and of nil a null pointer on the device.
func appendArg(b []byte, arg any) ([]byte, error) {
	var memory *object
	switch v := arg.(type) {
	case nil:
	case *Buffer:
		if v != nil {
			memory = &v.object
		}
	case *Image:
		if v != nil {
			memory = &v.object
		}
	default:
		if reflect.TypeOf(arg).Kind() == reflect.Bool {
			return b, fmt.Errorf("%w: bool cannot be a kernel's argument, pass int32 or uint8", ErrArgument)
		}
		return kernelarg.Append(b, arg, ErrArgument, "Local, *Buffer or *Image")
	}
	if memory == nil {
		return kernelarg.Pointer(b, 0), nil
	}
	h, err := memory.get()
	if err != nil {
		return b, err
	}
	return kernelarg.Pointer(b, h), nil
}

// Range is the index space of a launch.
type Range struct {
	Global []int    // work-items per dimension, one to three
	Local  []int    // work-items of a group per dimension; nil: the driver chooses
	Offset []int    // first index per dimension; nil: zero
	Wait   []*Event // what must be complete before
}

// Launch queues the kernel over a global size in groups of a local size; with a nil local size the
// driver chooses. Arguments are in order, all of them: *Buffer, *Image, Local, numbers of a fixed
// size (int32, float32, uint64, …; not int), []byte, or arrays and structures of numbers. They are
// copied before Launch returns, buffers excepted.
func (k *Kernel) Launch(q *Queue, global, local []int, args ...any) error {
	_, err := k.enqueue(q, Range{Global: global, Local: local}, nil, args)
	return err
}

// LaunchRange is Launch over a Range, with an event that the caller releases.
func (k *Kernel) LaunchRange(q *Queue, r Range, args ...any) (*Event, error) {
	id := new(cl.EventID)
	if _, err := k.enqueue(q, r, id, args); err != nil {
		return nil, err
	}
	return newEvent(*id), nil
}

// enqueue sets the arguments and queues the launch. It returns the variant
// where this is the first launch of one, else "".
func (k *Kernel) enqueue(q *Queue, r Range, event *cl.EventID, args []any) (variant string, err error) {
	kernel, err := k.get()
	queue, queueErr := q.get()
	wait, waitErr := eventIDs(r.Wait)
	if err = cmp.Or(err, queueErr, waitErr); err == nil && r.Global == nil {
		err = fmt.Errorf("global size: %w: no global size", ErrArgument)
	}
	if err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, err)
	}
	dim := len(r.Global)
	k.mu.Lock()
	defer k.mu.Unlock()
	global, err := fill(&k.space[0], "global size", r.Global, dim, 1)
	local, localErr := fill(&k.space[1], "local size", r.Local, dim, 1)
	offset, offsetErr := fill(&k.space[2], "offset", r.Offset, dim, 0)
	if err = cmp.Or(err, localErr, offsetErr); err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, err)
	}
	for i, arg := range args {
		if err := k.setArg(kernel, i, arg); err != nil {
			return "", fmt.Errorf("launch %s: argument %d: %w", k.name, i, resources(err))
		}
	}
	queueIt := func() error {
		return cl.Status("clEnqueueNDRangeKernel", queue, kernel, uintptr(dim), uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(global)),
			uintptr(unsafe.Pointer(local)), uintptr(len(wait)), uintptr(cl.Addr(wait)), uintptr(unsafe.Pointer(event)))
	}
	defers := k.program.defers
	if defers != nil {
		err = defers.Launch(queueIt)
	} else {
		err = queueIt()
	}
	if err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, resources(err))
	}
	if defers == nil {
		return "", nil
	}
	return k.launches.Note(k.name, global, local, offset), nil
}

// fill writes sizes into to, and least into the dimensions that are not used; it returns nil
// for no sizes. what names them in errors.
func fill(to *[3]uintptr, what string, sizes []int, dim, least int) (*[3]uintptr, error) {
	if sizes == nil {
		return nil, nil
	}
	if len(sizes) != dim || dim < 1 || dim > len(to) {
		return nil, fmt.Errorf("%s: %w: %d dimensions, the global size has %d", what, ErrArgument, len(sizes), dim)
	}
	*to = [3]uintptr{uintptr(least), uintptr(least), uintptr(least)}
	for i, size := range sizes {
		if size < least {
			return nil, fmt.Errorf("%s: %w: %v", what, ErrArgument, sizes)
		}
		to[i] = uintptr(size)
	}
	return to, nil
}
