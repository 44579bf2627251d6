package cuda

import (
	"errors"
	"fmt"
	"time"
	"unsafe"
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
	var flags, h uintptr
	if o.NonBlocking {
		flags = streamNonBlocking
	}
	err := c.within("make stream", func() error { return cuStreamCreate.call(uintptr(unsafe.Pointer(&h)), flags) })
	if err != nil {
		return nil, err
	}
	s := &Stream{context: c}
	s.set("stream", h)
	return s, nil
}

const streamNonBlocking = 1 // CU_STREAM_NON_BLOCKING

// DefaultStream returns the context's default stream. Releasing it does nothing.
func (c *Context) DefaultStream() *Stream { return &Stream{context: c, standard: true} }

// id returns the handle, zero for the default stream.
func (s *Stream) id() (uintptr, error) {
	if s.standard {
		return 0, nil
	}
	return s.get()
}

// do calls f with the stream, its context current.
func (s *Stream) do(what string, f func(stream uintptr) error) error {
	id, err := s.id()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.context.within(what, func() error { return f(id) })
}

// Synchronize waits until all that was queued is done.
func (s *Stream) Synchronize() error {
	return s.do("finish stream", func(id uintptr) error { return cuStreamSynchronize.call(id) })
}

// Done says whether all that was queued is done.
func (s *Stream) Done() (bool, error) {
	return done(s.do("ask stream", func(id uintptr) error { return cuStreamQuery.call(id) }))
}

// done reports whether what was asked about is done.
func done(err error) (bool, error) {
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
	return s.do("wait for event", func(id uintptr) error { return cuStreamWaitEvent.call(id, h, 0) })
}

// Release gives the stream back; commands that it still holds are done first.
func (s *Stream) Release() error {
	return s.release(func(h uintptr) error { return s.context.end(&cuStreamDestroy, h) })
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
	err := s.do("record event", func(id uintptr) error {
		var h uintptr
		if err := cuEventCreate.call(uintptr(unsafe.Pointer(&h)), 0); err != nil {
			return err
		}
		if err := cuEventRecord.call(h, id); err != nil {
			return errors.Join(err, cuEventDestroy.call(h))
		}
		e.set("event", h)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// do calls f with the event, its context current.
func (e *Event) do(what string, f func(event uintptr) error) error {
	h, err := e.get()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return e.context.within(what, func() error { return f(h) })
}

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	return e.do("wait for event", func(id uintptr) error { return cuEventSynchronize.call(id) })
}

// Done says whether the event has come.
func (e *Event) Done() (bool, error) {
	return done(e.do("ask event", func(id uintptr) error { return cuEventQuery.call(id) }))
}

// Since returns the time between an earlier event and this one, on the device's
// clock, to about half a microsecond. Both must have come.
func (e *Event) Since(earlier *Event) (time.Duration, error) {
	from, err := earlier.get()
	if err != nil {
		return 0, fmt.Errorf("time of event: %w", err)
	}
	var ms float32
	err = e.do("time of event", func(to uintptr) error { return cuEventElapsedTime.call(uintptr(unsafe.Pointer(&ms)), from, to) })
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Release gives the event back.
func (e *Event) Release() error {
	return e.release(func(h uintptr) error { return e.context.end(&cuEventDestroy, h) })
}
