package levelzero

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
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
		ids, err := handles(lists)
		if err != nil {
			return err
		}
		return ze("zeCommandQueueExecuteCommandLists").call(h, uintptr(len(ids)), uintptr(dl.Addr(ids)), 0)
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

// Event is signalled by a command, and waited for by others and by the host.
type Event struct{ object }

// NewEvent makes an event. The caller releases it.
func (c *Context) NewEvent(d *Device) (*Event, error) {
	e := &Event{}
	return made(e, c.do("make event", func(id uintptr) error {
		// A pool of this event alone: ZE_EVENT_POOL_FLAG_HOST_VISIBLE, one event.
		desc := newNumbers(stypeEventPoolDesc, 1, 1)
		device := []uintptr{d.id}
		pool, err := ze("zeEventPoolCreate").create(id, uintptr(unsafe.Pointer(desc)), 1, uintptr(dl.Addr(device)))
		if err != nil {
			return err
		}
		event := newNumbers(stypeEventDesc, 0, 4, 4) // the first, ZE_EVENT_SCOPE_FLAG_HOST to signal and to wait
		h, err := ze("zeEventCreate").create(pool, uintptr(unsafe.Pointer(event)))
		if err != nil {
			return errors.Join(err, ze("zeEventPoolDestroy").call(pool))
		}
		e.set("event", h, func(h uintptr) error {
			return errors.Join(ze("zeEventDestroy").call(h), ze("zeEventPoolDestroy").call(pool))
		})
		return nil
	}))
}

// Wait waits until the event is signalled.
func (e *Event) Wait(ctx context.Context) error {
	return e.do("wait for event", func(h uintptr) error { return await(ctx, ze("zeEventHostSynchronize"), h) })
}

// Done reports whether the event is signalled.
func (e *Event) Done() (bool, error) {
	err := e.do("ask event", func(h uintptr) error { return ze("zeEventQueryStatus").call(h) })
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// List is a list of commands for a device, which a Queue executes. It is one goroutine's at a time.
type List struct {
	device *Device
	object
}

// NewList makes an empty list. The caller releases it.
func (c *Context) NewList(d *Device) (*List, error) {
	l := &List{device: d}
	return made(l, c.do("make list", func(id uintptr) error {
		group, err := c.computeGroup(d)
		if err != nil {
			return err
		}
		desc := newNumbers(stypeCommandListDesc, group)
		h, err := ze("zeCommandListCreate").create(id, d.id, uintptr(unsafe.Pointer(desc)))
		l.set("list", h, destroy("zeCommandListDestroy"))
		return err
	}))
}

// Range is the index space of a launch.
type Range struct {
	Groups [3]int // how many, in each dimension; zero is one
	Group  [3]int // work-items of each; zero: what the kernel requires, or what the driver suggests
	Wait   []*Event
	Signal *Event // may be nil
}

// Launch adds the launch of the kernel over so many work-items, in groups of the size that it
// requires or the driver suggests: the number of groups is rounded up. Arguments are in order, all
// of them: *Buffer, Local, numbers of a fixed size (int32, float32, uint64, …; not int), []byte, or
// arrays and structures of numbers. They are copied before Launch returns, buffers excepted.
func (k *Kernel) Launch(l *List, items [3]int, args ...any) error {
	group, err := k.group(items)
	if err != nil {
		return err
	}
	var groups [3]int
	for i := range groups {
		groups[i] = (items[i] + group[i] - 1) / group[i]
	}
	return k.LaunchRange(l, Range{Groups: groups, Group: group}, args...)
}

// group returns the group size for so many work-items.
func (k *Kernel) group(items [3]int) ([3]int, error) {
	if info, err := k.Info(); err == nil && info.Required[0] > 0 {
		return info.Required, nil
	}
	return k.SuggestGroupSize(items)
}

// LaunchRange is Launch over a Range.
func (k *Kernel) LaunchRange(l *List, r Range, args ...any) error {
	return k.do("launch "+k.name, func(id uintptr) error {
		list, err := l.get()
		if err != nil {
			return err
		}
		var signal uintptr
		if r.Signal != nil {
			if signal, err = r.Signal.get(); err != nil {
				return err
			}
		}
		wait, err := handles(r.Wait)
		if err != nil {
			return err
		}
		for i := range r.Groups {
			r.Groups[i] = max(r.Groups[i], 1)
		}
		groups, err := sizes(r.Groups)
		if err != nil {
			return err
		}
		if r.Group == ([3]int{}) {
			if r.Group, err = k.group(r.Groups); err != nil {
				return err
			}
		}
		group, err := sizes(r.Group)
		if err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if err := ze("zeKernelSetGroupSize").call(id, uintptr(group[0]), uintptr(group[1]), uintptr(group[2])); err != nil {
			return err
		}
		for i, arg := range args {
			if err := k.setArg(id, i, arg); err != nil {
				return fmt.Errorf("argument %d: %w", i, err)
			}
		}
		return ze("zeCommandListAppendLaunchKernel").call(list, id, uintptr(unsafe.Pointer(&groups)), signal,
			uintptr(len(wait)), uintptr(dl.Addr(wait)))
	})
}

// Copy adds a copy of size bytes from one buffer to another.
func (l *List) Copy(to, from *Buffer, size int) error {
	return l.do("copy", func(list uintptr) error {
		at, err := handles([]*Buffer{to, from})
		if err != nil {
			return err
		}
		if size < 0 || size > to.size || size > from.size {
			return fmt.Errorf("%w: %d bytes from %d to %d", ErrArgument, size, from.size, to.size)
		}
		return ze("zeCommandListAppendMemoryCopy").call(list, at[0], at[1], uintptr(size), 0, 0, 0)
	})
}

// Fill adds the filling of a buffer with a pattern.
func (l *List) Fill(b *Buffer, pattern []byte) error {
	return l.do("fill", func(list uintptr) error {
		at, err := b.get()
		if err != nil {
			return err
		}
		if len(pattern) == 0 || b.size%len(pattern) != 0 {
			return fmt.Errorf("%w: %d bytes with %d", ErrArgument, b.size, len(pattern))
		}
		return ze("zeCommandListAppendMemoryFill").call(list, at, uintptr(dl.Addr(pattern)), uintptr(len(pattern)),
			uintptr(b.size), 0, 0, 0)
	})
}

// Barrier makes what is added later wait for what was added before.
func (l *List) Barrier() error {
	return l.do("add barrier", func(list uintptr) error { return ze("zeCommandListAppendBarrier").call(list, 0, 0, 0) })
}

// Close ends the list, so that it can be executed.
func (l *List) Close() error {
	return l.do("close list", func(list uintptr) error { return ze("zeCommandListClose").call(list) })
}

// Reset empties the list, which must not be under way.
func (l *List) Reset() error {
	return l.do("reset list", func(list uintptr) error { return ze("zeCommandListReset").call(list) })
}
