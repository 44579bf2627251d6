package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
)

// StreamOptions say how a stream works; the zero value orders it with the
// default stream.
type StreamOptions struct {
	NonBlocking bool // not ordered with the default stream
}

// Stream takes commands, which are done one after the other.
type Stream struct {
	context  *Context
	standard bool // the context's default stream, whose handle is zero
	object
}

// NewStream makes a stream. The caller releases it.
func (c *Context) NewStream(o StreamOptions) (*Stream, error) {
	var flags uint32
	if o.NonBlocking {
		flags = cu.StreamNonBlocking
	}
	s := &Stream{context: c}
	err := c.within("make stream", func() error {
		id, err := cu.StreamCreate(flags)
		s.set("stream", uintptr(id))
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// DefaultStream returns the context's default stream. Releasing it does nothing.
func (c *Context) DefaultStream() *Stream { return &Stream{context: c, standard: true} }

// Handle returns the CUstream; zero once it is released, and of the default one.
func (s *Stream) Handle() uintptr { return s.handle.Load() }

// id returns the handle, zero for the default stream.
func (s *Stream) id() (cu.Stream, error) {
	if s.standard {
		return 0, nil
	}
	h, err := s.get()
	return cu.Stream(h), err
}

// do calls f with the stream, its context current.
func (s *Stream) do(what string, f func(cu.Stream) error) error {
	id, err := s.id()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.context.within(what, func() error { return f(id) })
}

// Synchronize waits until all that was queued is done.
func (s *Stream) Synchronize() error { return s.do("finish stream", cu.StreamSynchronize) }

// Done says whether all that was queued is done.
func (s *Stream) Done() (bool, error) {
	err := s.do("ask stream", cu.StreamQuery)
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Wait makes what is queued from now on wait for an event, of this stream or of
// another one.
func (s *Stream) Wait(e *Event) error {
	h, err := e.get()
	if err != nil {
		return fmt.Errorf("wait for event: %w", err)
	}
	return s.do("wait for event", func(id cu.Stream) error { return cu.StreamWaitEvent(id, cu.Event(h)) })
}

// Release gives the stream back; commands that it still holds are done first.
func (s *Stream) Release() error {
	return s.release(func(h uintptr) error {
		return s.context.releaseWithin(func() error { return cu.StreamDestroy(cu.Stream(h)) })
	})
}

// Event is a moment in a stream.
type Event struct {
	context *Context
	object
}

// Record queues an event, which comes when all that was queued before is done.
// The caller releases it.
func (s *Stream) Record() (*Event, error) {
	e := &Event{context: s.context}
	err := s.do("record event", func(id cu.Stream) error {
		event, err := cu.EventCreate(0)
		if err != nil {
			return err
		}
		if err := cu.EventRecord(event, id); err != nil {
			return errors.Join(err, cu.EventDestroy(event))
		}
		e.set("event", uintptr(event))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Handle returns the CUevent; zero once it is released.
func (e *Event) Handle() uintptr { return e.handle.Load() }

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	h, err := e.get()
	if err != nil {
		return fmt.Errorf("wait for event: %w", err)
	}
	return e.context.within("wait for event", func() error { return cu.EventSynchronize(cu.Event(h)) })
}

// Done says whether the event has come.
func (e *Event) Done() (bool, error) {
	h, err := e.get()
	if err != nil {
		return false, fmt.Errorf("ask event: %w", err)
	}
	err = e.context.within("ask event", func() error { return cu.EventQuery(cu.Event(h)) })
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Since returns the time between an earlier event and this one, on the device's
// clock, to about half a microsecond. Both must have come.
func (e *Event) Since(earlier *Event) (time.Duration, error) {
	to, err := e.get()
	if err != nil {
		return 0, fmt.Errorf("time of event: %w", err)
	}
	from, err := earlier.get()
	if err != nil {
		return 0, fmt.Errorf("time of event: %w", err)
	}
	var ms float32
	err = e.context.within("time of event", func() (err error) {
		ms, err = cu.EventElapsedTime(cu.Event(from), cu.Event(to))
		return err
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Release gives the event back.
func (e *Event) Release() error {
	return e.release(func(h uintptr) error {
		return e.context.releaseWithin(func() error { return cu.EventDestroy(cu.Event(h)) })
	})
}
