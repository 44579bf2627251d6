package store

import (
	"context"
	"io"
)

// Flow is told of the bytes that a call of a remote moves, by the remote's engine. It is safe for
// concurrent use.
type Flow interface {
	// Expect is called before the bytes of an object arrive or go. total is how many there are; less than
	// zero: the engine does not know. It may wait. After an error nothing is to be moved.
	Expect(ctx context.Context, total int64) error

	// Moved is called after n bytes have arrived, or gone. After an error nothing more is to be moved.
	Moved(n int) error
}

// flowKey is the context key of a Flow.
type flowKey struct{}

// WithFlow returns a context whose calls tell f of what they move.
func WithFlow(ctx context.Context, f Flow) context.Context {
	return context.WithValue(ctx, flowKey{}, f)
}

// FlowOf returns the Flow of a context; nil: it has none.
func FlowOf(ctx context.Context) Flow {
	f, _ := ctx.Value(flowKey{}).(Flow)
	return f
}

// Flowing returns a reader of r, which has total bytes, that tells the Flow of the context. Without one
// it is r.
func Flowing(ctx context.Context, r io.Reader, total int64) io.Reader {
	f := FlowOf(ctx)
	if f == nil {
		return r
	}
	return &flowing{ctx: ctx, r: r, f: f, total: total}
}

type flowing struct {
	ctx   context.Context
	r     io.Reader
	f     Flow
	total int64
	asked bool
	err   error // of Expect
}

func (r *flowing) Read(b []byte) (int, error) {
	if !r.asked {
		r.asked = true
		r.err = r.f.Expect(r.ctx, r.total)
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(b)
	if n > 0 {
		if r.err = r.f.Moved(n); r.err != nil {
			return 0, r.err
		}
	}
	return n, err
}
