package levelzero

import (
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
)

// List is a list of commands for a device, which a Queue executes. It is one
// goroutine's at a time.
type List struct {
	device *Device
	object
}

// NewList makes an empty list. The caller releases it.
func (c *Context) NewList(d *Device) (*List, error) {
	id, group, err := c.compute(d)
	if err != nil {
		return nil, fmt.Errorf("make list: %w", err)
	}
	h, err := ze.CommandListCreate(id, d.id, group)
	if err != nil {
		return nil, fmt.Errorf("make list: %w", resources(err))
	}
	l := &List{device: d}
	l.set("list", uintptr(h))
	return l, nil
}

// compute returns the first group of a device's queues that takes kernels.
func (c *Context) compute(d *Device) (ze.ContextID, int, error) {
	id, err := c.id()
	if err != nil {
		return 0, 0, err
	}
	if !slices.Contains(c.devices, d) {
		return 0, 0, fmt.Errorf("%w: the device is not of the context", ErrArgument)
	}
	groups, err := ze.QueueGroups(d.id)
	if err != nil {
		return 0, 0, err
	}
	i := slices.IndexFunc(groups, func(g ze.QueueGroup) bool { return g.Flags&ze.ComputeQueues != 0 })
	if i < 0 {
		return 0, 0, fmt.Errorf("%w: %s takes no kernels", UnsupportedFeature, d.Name)
	}
	return id, i, nil
}

// Handle returns the ze_command_list_handle_t; zero once it is released.
func (l *List) Handle() uintptr { return l.handle.Load() }

func (l *List) id() (ze.ListID, error) {
	h, err := l.get()
	return ze.ListID(h), err
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
	fail := func(err error) error { return fmt.Errorf("launch %s: %w", k.name, resources(err)) }
	id, err := k.id()
	if err != nil {
		return fail(err)
	}
	list, err := l.id()
	if err != nil {
		return fail(err)
	}
	signal, wait, err := eventIDs(r.Signal, r.Wait)
	if err != nil {
		return fail(err)
	}
	for i := range r.Groups {
		r.Groups[i] = max(r.Groups[i], 1)
	}
	groups, err := sizes(r.Groups)
	if err != nil {
		return fail(err)
	}
	if r.Group == ([3]int{}) {
		if r.Group, err = k.group(r.Groups); err != nil {
			return err
		}
	}
	group, err := sizes(r.Group)
	if err != nil {
		return fail(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := ze.KernelSetGroupSize(id, group); err != nil {
		return fail(err)
	}
	for i, arg := range args {
		if err := k.setArg(id, i, arg); err != nil {
			return fail(fmt.Errorf("argument %d: %w", i, err))
		}
	}
	if err := ze.AppendLaunchKernel(list, id, groups, signal, wait); err != nil {
		return fail(err)
	}
	return nil
}

// Copy adds a copy of size bytes from one buffer to another.
func (l *List) Copy(to, from *Buffer, size int) error {
	list, err := l.id()
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	a, err := to.get()
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	b, err := from.get()
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if size < 0 || size > to.size || size > from.size {
		return fmt.Errorf("copy: %w: %d bytes from %d to %d", ErrArgument, size, from.size, to.size)
	}
	if err := ze.AppendMemoryCopy(list, a, b, uintptr(size), 0, nil); err != nil {
		return fmt.Errorf("copy: %w", resources(err))
	}
	return nil
}

// Fill adds the filling of a buffer with a pattern.
func (l *List) Fill(b *Buffer, pattern []byte) error {
	list, err := l.id()
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	at, err := b.get()
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if len(pattern) == 0 || b.size%len(pattern) != 0 {
		return fmt.Errorf("fill: %w: %d bytes with %d", ErrArgument, b.size, len(pattern))
	}
	if err := ze.AppendMemoryFill(list, at, pattern, uintptr(b.size), 0, nil); err != nil {
		return fmt.Errorf("fill: %w", resources(err))
	}
	return nil
}

// Barrier makes what is added later wait for what was added before.
func (l *List) Barrier() error {
	list, err := l.id()
	if err == nil {
		err = ze.AppendBarrier(list)
	}
	if err != nil {
		return fmt.Errorf("add barrier: %w", err)
	}
	return nil
}

// Close ends the list, so that it can be executed.
func (l *List) Close() error {
	list, err := l.id()
	if err == nil {
		err = ze.CommandListClose(list)
	}
	if err != nil {
		return fmt.Errorf("close list: %w", resources(err))
	}
	return nil
}

// Reset empties the list, which must not be under way.
func (l *List) Reset() error {
	list, err := l.id()
	if err == nil {
		err = ze.CommandListReset(list)
	}
	if err != nil {
		return fmt.Errorf("reset list: %w", resources(err))
	}
	return nil
}

// Release gives the list back.
func (l *List) Release() error {
	return l.release(func(h uintptr) error { return ze.CommandListDestroy(ze.ListID(h)) })
}
