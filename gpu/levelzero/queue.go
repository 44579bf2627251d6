package levelzero

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"
)

// Queue executes lists on a device, one after the other.
type Queue struct{ object }

// NewQueue makes a queue that takes kernels. The caller releases it.
func (c *Context) NewQueue(d *Device) (*Queue, error) {
	q := &Queue{}
	return made(q, c.do("make queue", func(id uintptr) error {
		group, err := c.computeGroup(d)
		if err != nil {
			return err
		}
		desc := newNumbers(stypeCommandQueueDesc, group)
		h, err := ze("zeCommandQueueCreate").create(id, d.id, uintptr(unsafe.Pointer(desc)))
		q.set("queue", h, destroy("zeCommandQueueDestroy"))
		return err
	}))
}

// queueGroup is ze_command_queue_group_properties_t.
type queueGroup struct {
	header
	flags uint32
	_     uintptr // the largest pattern of a fill
	_     uint32  // queues
}

// computeQueues is the flag of a group that takes kernels.
const computeQueues = 1

// computeGroup returns the first group of a device's queues that takes kernels.
func (c *Context) computeGroup(d *Device) (uint32, error) {
	if !slices.Contains(c.devices, d) {
		return 0, fmt.Errorf("%w: the device is not of the context", ErrArgument)
	}
	group := queueGroup{header: header{stype: stypeQueueGroupProperties}}
	groups, err := list(ze("zeDeviceGetCommandQueueGroupProperties"), group, d.id)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(groups, func(g queueGroup) bool { return g.flags&computeQueues != 0 })
	if i < 0 {
		return 0, fmt.Errorf("%w: %s takes no kernels", UnsupportedFeature, d.Name)
	}
	return uint32(i), nil
}

// Execute gives closed lists to the device, and does not wait for them.
func (q *Queue) Execute(lists ...*List) error {
	return q.do("execute", func(h uintptr) error {
		ids := make([]uintptr, len(lists))
		for i, l := range lists {
			var err error
			if ids[i], err = l.get(); err != nil {
				return err
			}
		}
		return ze("zeCommandQueueExecuteCommandLists").call(h, uintptr(len(ids)), uintptr(addr(ids)), 0)
	})
}

// step is how long a driver waits at once, so that a context can end the wait.
const step = 50 * time.Millisecond

// Finish waits until all that was executed is done.
func (q *Queue) Finish(ctx context.Context) error {
	return q.do("finish queue", func(h uintptr) error { return await(ctx, ze("zeCommandQueueSynchronize"), h) })
}

// await waits in steps for an object that is NotReady yet.
func await(ctx context.Context, wait entry, h uintptr) error {
	for {
		err := wait.call(h, uintptr(step.Nanoseconds()))
		if !errors.Is(err, NotReady) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
