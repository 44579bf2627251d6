package levelzero

import (
	"fmt"
	"unsafe"
)

// List is a list of commands for a device, which a Queue executes. It is one
// goroutine's at a time.
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

// Launch adds the launch of the kernel over so many work-items, in groups of the size
// that it requires or the driver suggests: the number of groups is rounded up.
// Arguments are in order, all of them: *Buffer, Local, numbers of a fixed size (int32,
// float32, uint64, …; not int), []byte, or arrays and structures of numbers. They are
// copied before Launch returns, buffers excepted.
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
		signal, wait, err := eventIDs(r.Signal, r.Wait)
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
			uintptr(len(wait)), uintptr(addr(wait)))
	})
}

// Copy adds a copy of size bytes from one buffer to another.
func (l *List) Copy(to, from *Buffer, size int) error {
	return l.do("copy", func(list uintptr) error {
		a, err := to.get()
		if err != nil {
			return err
		}
		b, err := from.get()
		if err != nil {
			return err
		}
		if size < 0 || size > to.size || size > from.size {
			return fmt.Errorf("%w: %d bytes from %d to %d", ErrArgument, size, from.size, to.size)
		}
		return ze("zeCommandListAppendMemoryCopy").call(list, a, b, uintptr(size), 0, 0, 0)
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
		return ze("zeCommandListAppendMemoryFill").call(list, at, uintptr(addr(pattern)), uintptr(len(pattern)),
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
