package opencl

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// Range is the index space of a launch.
type Range struct {
	Global []int    // work-items per dimension, one to three
	Local  []int    // work-items of a group per dimension; nil: the driver chooses
	Offset []int    // first index per dimension; nil: zero
	Wait   []*Event // what must be complete before
}

// Launch queues the kernel over a global size in groups of a local size; with a
// nil local size the driver chooses. Arguments are in order, all of them:
// *Buffer, *Image, Local, numbers of a fixed size (int32, float32, uint64, …;
// not int), []byte, or arrays and structures of numbers. They are copied
// before Launch returns, buffers excepted.
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
	if err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, err)
	}
	queue, err := q.get()
	if err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, err)
	}
	wait, err := eventIDs(r.Wait)
	if err != nil {
		return "", fmt.Errorf("launch %s: %w", k.name, err)
	}
	id, dim := cl.KernelID(kernel), len(r.Global)
	k.mu.Lock()
	defer k.mu.Unlock()
	global, err := fill(&k.space[0], r.Global, dim, 1)
	if err == nil && global == nil {
		err = fmt.Errorf("%w: no global size", ErrArgument)
	}
	if err != nil {
		return "", fmt.Errorf("launch %s: global size: %w", k.name, err)
	}
	local, err := fill(&k.space[1], r.Local, dim, 1)
	if err != nil {
		return "", fmt.Errorf("launch %s: local size: %w", k.name, err)
	}
	offset, err := fill(&k.space[2], r.Offset, dim, 0)
	if err != nil {
		return "", fmt.Errorf("launch %s: offset: %w", k.name, err)
	}
	for i, arg := range args {
		if err := k.setArg(id, i, arg); err != nil {
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

// fill writes sizes into to, and least into the dimensions that are not used;
// it returns nil for no sizes.
func fill(to *[3]uintptr, sizes []int, dim int, least int) (*[3]uintptr, error) {
	if sizes == nil {
		return nil, nil
	}
	if len(sizes) != dim || dim < 1 || dim > len(to) {
		return nil, fmt.Errorf("%w: %d dimensions, the global size has %d", ErrArgument, len(sizes), dim)
	}
	*to = [3]uintptr{uintptr(least), uintptr(least), uintptr(least)}
	for i, size := range sizes {
		if size < least {
			return nil, fmt.Errorf("%w: %v", ErrArgument, sizes)
		}
		to[i] = uintptr(size)
	}
	return to, nil
}
