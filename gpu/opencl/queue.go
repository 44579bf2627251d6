package opencl

import (
	"errors"
	"fmt"
	"time"

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

// NewQueue makes a queue for one of the context's devices. The caller releases it.
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
	return q.handle.Release(func(h uintptr) (err error) {
		if driver := q.device.platform.deferrer(); driver != nil {
			err = driver.Closing(cl.QueueID(h))
		}
		return errors.Join(err, cl.Status("clReleaseCommandQueue", h))
	})
}

// Event is a command that was queued.
type Event struct{ object }

func newEvent(id cl.EventID) *Event {
	e := &Event{}
	e.set("event", uintptr(id), "clReleaseEvent")
	return e
}

// Status is how far a command has come. A negative one is the Code that it failed with.
type Status int32

// How far a command can come.
const (
	Complete  Status = 0
	Running   Status = 1
	Submitted Status = 2
	Queued    Status = 3
)

func (s Status) String() string {
	if s < Complete || s > Queued {
		return Code(s).String()
	}
	return [...]string{"complete", "running", "submitted", "queued"}[s]
}

// Wait waits until the command is complete. A command that failed is an error.
func (e *Event) Wait() error {
	events, err := eventIDs([]*Event{e})
	if err == nil {
		err = waitFor(events)
	}
	if err != nil {
		return fmt.Errorf("wait for command: %w", resources(err))
	}
	return nil
}

// Status returns how far the command has come.
func (e *Event) Status() (Status, error) {
	s, err := e.ask("clGetEventInfo", cl.EventCommandExecutionStatus)
	return Status(s), err
}

// ask returns a parameter of the command's that is a number.
func (e *Event) ask(f string, param uint32) (uint64, error) {
	h, err := e.get()
	var b []byte
	if err == nil {
		b, err = cl.Info(f, param, h)
	}
	if err != nil {
		return 0, fmt.Errorf("ask command: %w", err)
	}
	n, _ := cl.Number(b, nil)
	return n, nil
}

// Times are the moments of a command on its device's own clock.
type Times struct{ Queued, Submitted, Started, Ended time.Duration }

// Run returns how long the command ran.
func (t Times) Run() time.Duration { return t.Ended - t.Started }

// Times returns the moments of a command that is complete, on a queue with
// profiling; on another the error wraps ProfilingInfoNotAvailable.
func (e *Event) Times() (Times, error) {
	var t Times
	for i, to := range []*time.Duration{&t.Queued, &t.Submitted, &t.Started, &t.Ended} {
		ns, err := e.ask("clGetEventProfilingInfo", cl.ProfilingCommandQueued+uint32(i))
		if err != nil {
			return Times{}, err
		}
		*to = time.Duration(ns)
	}
	return t, nil
}

func eventIDs(events []*Event) ([]cl.EventID, error) {
	if len(events) == 0 {
		return nil, nil
	}
	ids := make([]cl.EventID, len(events))
	for i, e := range events {
		h, err := e.get()
		if err != nil {
			return nil, err
		}
		ids[i] = cl.EventID(h)
	}
	return ids, nil
}

func waitFor(events []cl.EventID) error {
	if len(events) == 0 {
		return nil
	}
	return cl.Status("clWaitForEvents", uintptr(len(events)), uintptr(cl.Addr(events)))
}
