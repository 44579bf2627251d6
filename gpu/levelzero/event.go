package levelzero

import (
	"context"
	"errors"
	"unsafe"
)

// Event is signalled by a command, and waited for by others and by the host.
type Event struct{ object }

// NewEvent makes an event. The caller releases it.
func (c *Context) NewEvent(d *Device) (*Event, error) {
	e := &Event{}
	return made(e, c.do("make event", func(id uintptr) error {
		// A pool of this event alone: ZE_EVENT_POOL_FLAG_HOST_VISIBLE, one event.
		desc := newNumbers(stypeEventPoolDesc, 1, 1)
		device := []uintptr{d.id}
		pool, err := ze("zeEventPoolCreate").create(id, uintptr(unsafe.Pointer(desc)), 1, uintptr(addr(device)))
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

// Done says whether the event is signalled.
func (e *Event) Done() (bool, error) {
	err := e.do("ask event", func(h uintptr) error { return ze("zeEventQueryStatus").call(h) })
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// eventIDs returns the handles of what a command signals, which may be nil, and of what
// it waits for.
func eventIDs(signal *Event, wait []*Event) (own uintptr, ids []uintptr, err error) {
	if signal != nil {
		if own, err = signal.get(); err != nil {
			return 0, nil, err
		}
	}
	for _, e := range wait {
		h, err := e.get()
		if err != nil {
			return 0, nil, err
		}
		ids = append(ids, h)
	}
	return own, ids, nil
}
