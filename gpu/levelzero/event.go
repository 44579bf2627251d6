package levelzero

import (
	"context"
	"errors"
	"unsafe"
)

// Event is signalled by a command, and waited for by others and by the host.
type Event struct {
	pool uintptr // ze_event_pool_handle_t of this event alone
	object
}

// NewEvent makes an event. The caller releases it.
func (c *Context) NewEvent(d *Device) (*Event, error) {
	e := &Event{}
	return made(e, c.do("make event", func(id uintptr) error {
		desc := newNumbers(stypeEventPoolDesc, 1, 1) // ZE_EVENT_POOL_FLAG_HOST_VISIBLE, one event
		device := []uintptr{d.id}
		pool, err := zeEventPoolCreate.create(id, uintptr(unsafe.Pointer(desc)), 1, uintptr(addr(device)))
		if err != nil {
			return err
		}
		event := newNumbers(stypeEventDesc, 0, 4, 4) // the first, ZE_EVENT_SCOPE_FLAG_HOST to signal and to wait
		h, err := zeEventCreate.create(pool, uintptr(unsafe.Pointer(event)))
		if err != nil {
			return errors.Join(err, zeEventPoolDestroy.call(pool))
		}
		e.pool = pool
		e.set("event", h)
		return nil
	}))
}

// Wait waits until the event is signalled.
func (e *Event) Wait(ctx context.Context) error {
	return e.do("wait for event", func(h uintptr) error { return await(ctx, &zeEventHostSynchronize, h) })
}

// Done says whether the event is signalled.
func (e *Event) Done() (bool, error) {
	err := e.do("ask event", func(h uintptr) error { return zeEventQueryStatus.call(h) })
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Release gives the event back.
func (e *Event) Release() error {
	return e.release(func(h uintptr) error {
		return errors.Join(zeEventDestroy.call(h), zeEventPoolDestroy.call(e.pool))
	})
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
