package cuda

import (
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// StreamOptions say how a stream works; the zero value orders it with the default stream.
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
	err := c.within("make stream", func() error { return call("cuStreamCreate", uintptr(unsafe.Pointer(&h)), flags) })
	if err != nil {
		return nil, err
	}
	s := &Stream{context: c}
	s.set("stream", h, c.end("cuStreamDestroy_v2"))
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
	return s.context.with(what, s.id, f)
}

// Synchronize waits until all that was queued is done.
func (s *Stream) Synchronize() error {
	return s.do("finish stream", func(id uintptr) error { return call("cuStreamSynchronize", id) })
}

// Done reports whether all that was queued is done.
func (s *Stream) Done() (bool, error) {
	return done(s.do("ask stream", func(id uintptr) error { return call("cuStreamQuery", id) }))
}

// done reports whether what was asked about is done.
func done(err error) (bool, error) {
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Wait makes what is queued from now on wait for an event, of this stream or of another one.
func (s *Stream) Wait(e *Event) error {
	h, err := e.get()
	if err != nil {
		return fmt.Errorf("wait for event: %w", err)
	}
	return s.do("wait for event", func(id uintptr) error { return call("cuStreamWaitEvent", id, h, 0) })
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
		if err := call("cuEventCreate", uintptr(unsafe.Pointer(&h)), 0); err != nil {
			return err
		}
		if err := call("cuEventRecord", h, id); err != nil {
			return errors.Join(err, call("cuEventDestroy_v2", h))
		}
		e.set("event", h, s.context.end("cuEventDestroy_v2"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// do calls f with the event, its context current.
func (e *Event) do(what string, f func(event uintptr) error) error {
	return e.context.with(what, e.get, f)
}

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	return e.do("wait for event", func(id uintptr) error { return call("cuEventSynchronize", id) })
}

// Done reports whether the event has come.
func (e *Event) Done() (bool, error) {
	return done(e.do("ask event", func(id uintptr) error { return call("cuEventQuery", id) }))
}

// Since returns the time between an earlier event and this one, on the device's
// clock, to about half a microsecond. Both must have come.
func (e *Event) Since(earlier *Event) (time.Duration, error) {
	from, err := earlier.get()
	if err != nil {
		return 0, fmt.Errorf("time of event: %w", err)
	}
	var ms float32
	err = e.do("time of event", func(to uintptr) error { return call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), from, to) })
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
