package opencl

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
)

// QueueOptions say how a queue works; the zero value is a queue in order.
type QueueOptions struct {
	Profiling  bool // events tell their times
	OutOfOrder bool // only events order the commands
}

// Queue takes commands for one device.
type Queue struct {
	device *Device
	object
}

// NewQueue makes a queue for one of the context's devices. The caller releases
// it.
func (c *Context) NewQueue(d *Device, o QueueOptions) (*Queue, error) {
	h, err := c.get()
	if err != nil {
		return nil, fmt.Errorf("make queue: %w", err)
	}
	var bits uintptr
	if o.OutOfOrder {
		bits |= cl.QueueOutOfOrderExecMode
	}
	if o.Profiling {
		bits |= cl.QueueProfiling
	}
	var properties []uintptr
	if bits != 0 {
		properties = []uintptr{cl.QueueProperties, bits, 0}
	}
	id, err := cl.Create("clCreateCommandQueueWithProperties", h, uintptr(d.id()), uintptr(cl.Addr(properties)))
	if errors.Is(err, ErrMissing) { // the loader is older than OpenCL 2.0
		id, err = cl.Create("clCreateCommandQueue", h, uintptr(d.id()), bits)
	}
	if err != nil {
		return nil, fmt.Errorf("make queue on %s: %w", d.Name, resources(err))
	}
	q := &Queue{device: d}
	q.set("queue", id, "clReleaseCommandQueue")
	if driver := d.platform.deferrer(); driver != nil {
		driver.Opened(cl.QueueID(id))
	}
	return q, nil
}

// Device returns the queue's device.
func (q *Queue) Device() *Device { return q.device }

// Flush hands what is queued to the device.
func (q *Queue) Flush() error { return q.call("flush queue", "clFlush") }

// Finish waits until all that was queued is done.
func (q *Queue) Finish() error { return q.call("finish queue", "clFinish") }

func (q *Queue) call(what string, f string) error {
	h, err := q.get()
	if err == nil {
		err = cl.Status(f, h)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, resources(err))
	}
	return nil
}

// Release gives the queue back; commands that it still holds are done first.
func (q *Queue) Release() error {
	return q.release(func(h uintptr) (err error) {
		if driver := q.device.platform.deferrer(); driver != nil {
			err = driver.Closing(cl.QueueID(h))
		}
		return errors.Join(err, cl.Status("clReleaseCommandQueue", h))
	})
}
