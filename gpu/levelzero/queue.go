package levelzero

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
)

// Queue executes lists on a device, one after the other.
type Queue struct {
	object
}

// NewQueue makes a queue that takes kernels. The caller releases it.
func (c *Context) NewQueue(d *Device) (*Queue, error) {
	id, group, err := c.compute(d)
	if err != nil {
		return nil, fmt.Errorf("make queue: %w", err)
	}
	h, err := ze.CommandQueueCreate(id, d.id, group)
	if err != nil {
		return nil, fmt.Errorf("make queue: %w", resources(err))
	}
	q := &Queue{}
	q.set("queue", uintptr(h))
	return q, nil
}

// Handle returns the ze_command_queue_handle_t; zero once it is released.
func (q *Queue) Handle() uintptr { return q.handle.Load() }

// Execute gives closed lists to the device, and does not wait for them.
func (q *Queue) Execute(lists ...*List) error {
	h, err := q.get()
	if err != nil {
		return fmt.Errorf("execute: %w", err)
	}
	ids := make([]ze.ListID, len(lists))
	for i, l := range lists {
		if ids[i], err = l.id(); err != nil {
			return fmt.Errorf("execute: %w", err)
		}
	}
	if err := ze.CommandQueueExecuteCommandLists(ze.QueueID(h), ids); err != nil {
		return fmt.Errorf("execute: %w", resources(err))
	}
	return nil
}

// step is how long a driver waits at once, so that a context can end the wait.
const step = 50 * time.Millisecond

// Finish waits until all that was executed is done.
func (q *Queue) Finish(ctx context.Context) error {
	h, err := q.get()
	if err != nil {
		return fmt.Errorf("finish queue: %w", err)
	}
	if err := await(ctx, func(ns uint64) error { return ze.CommandQueueSynchronize(ze.QueueID(h), ns) }); err != nil {
		return fmt.Errorf("finish queue: %w", err)
	}
	return nil
}

// await waits in steps for what is NotReady yet.
func await(ctx context.Context, wait func(nanoseconds uint64) error) error {
	for {
		err := wait(uint64(step))
		if !errors.Is(err, NotReady) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Release gives the queue back.
func (q *Queue) Release() error {
	return q.release(func(h uintptr) error { return ze.CommandQueueDestroy(ze.QueueID(h)) })
}
