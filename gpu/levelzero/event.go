package levelzero

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
)

// Event is signalled by a command, and waited for by others and by the host.
type Event struct {
	pool ze.EventPoolID // of this event alone
	object
}

// NewEvent makes an event. The caller releases it.
func (c *Context) NewEvent(d *Device) (*Event, error) {
	id, err := c.id()
	if err != nil {
		return nil, fmt.Errorf("make event: %w", err)
	}
	pool, err := ze.EventPoolCreate(id, d.id, 1)
	if err != nil {
		return nil, fmt.Errorf("make event: %w", resources(err))
	}
	h, err := ze.EventCreate(pool, 0)
	if err != nil {
		return nil, fmt.Errorf("make event: %w", errors.Join(resources(err), ze.EventPoolDestroy(pool)))
	}
	e := &Event{pool: pool}
	e.set("event", uintptr(h))
	return e, nil
}

// Handle returns the ze_event_handle_t; zero once it is released.
func (e *Event) Handle() uintptr { return e.handle.Load() }

// Wait waits until the event is signalled.
func (e *Event) Wait(ctx context.Context) error {
	h, err := e.get()
	if err != nil {
		return fmt.Errorf("wait for event: %w", err)
	}
	if err := await(ctx, func(ns uint64) error { return ze.EventHostSynchronize(ze.EventID(h), ns) }); err != nil {
		return fmt.Errorf("wait for event: %w", err)
	}
	return nil
}

// Done says whether the event is signalled.
func (e *Event) Done() (bool, error) {
	h, err := e.get()
	if err != nil {
		return false, fmt.Errorf("ask event: %w", err)
	}
	switch err := ze.EventQueryStatus(ze.EventID(h)); {
	case err == nil:
		return true, nil
	case errors.Is(err, NotReady):
		return false, nil
	default:
		return false, fmt.Errorf("ask event: %w", err)
	}
}

// Release gives the event back.
func (e *Event) Release() error {
	return e.release(func(h uintptr) error {
		return errors.Join(ze.EventDestroy(ze.EventID(h)), ze.EventPoolDestroy(e.pool))
	})
}

// eventIDs returns the handles of what a command signals, which may be nil, and of what
// it waits for.
func eventIDs(signal *Event, wait []*Event) (ze.EventID, []ze.EventID, error) {
	var own uintptr
	var err error
	if signal != nil {
		if own, err = signal.get(); err != nil {
			return 0, nil, err
		}
	}
	ids := make([]ze.EventID, len(wait))
	for i, e := range wait {
		h, err := e.get()
		if err != nil {
			return 0, nil, err
		}
		ids[i] = ze.EventID(h)
	}
	return ze.EventID(own), ids, nil
}
