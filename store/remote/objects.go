// Package remote keeps entries where many machines reach them: in Redis, in an S3 bucket,
// behind an HTTP server. One entry is one object, signed as a whole, so that no reader meets
// the code of one build with the description of another.
package remote

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Objects is what an engine has to offer: bytes by name. Implementations are safe for
// concurrent use. Every method ends with its context, or soon after. A name is 1 to 512 bytes
// of a-z, 0-9, '.', '-', '_' and '/'. What stands between slashes is not empty, and neither "." nor
// "..". No object's name is that of another with a slash and more behind it. Package remotetest
// checks an engine.
type Objects interface {
	// Get returns the object of a name, which the caller owns. ErrNotFound: there is none;
	// ErrTooLarge: it has more than limit bytes, and at most limit+1 were read.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)

	// Put writes an object, complete or not at all. Unless replace, one that is there stays,
	// and the error is ErrExists; an engine that cannot tell writes it. ErrFull: the engine
	// has no room. b is not changed, and not kept.
	Put(ctx context.Context, name string, b []byte, replace bool) error

	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error

	// List yields the objects whose names begin with prefix, in no particular order. An
	// error ends the sequence; ErrUnsupported: the engine has no lists.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]

	// Close ends the connections.
	Close() error
}

// Object describes one.
type Object struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // zero where the engine does not tell
}

// ManyGetter is what Objects offer that get many objects in fewer round trips than one each.
type ManyGetter interface {
	// GetMany calls got for each name, one after the other in no particular order, with
	// what Get would return. It returns an error only if it stops before the last name.
	GetMany(ctx context.Context, names []string, limit int64, got func(name string, b []byte, err error)) error
}

// Leaser is what Objects offer that can make machines wait for one build. A lease that is
// lost costs a second build, and nothing else: there is no fencing.
type Leaser interface {
	// Acquire takes the lease of a name until ttl from now. ErrHeld: somebody else has it.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error)
}

// Lease is one that is held. Its methods are called by one goroutine at a time.
type Lease interface {
	// Renew lengthens the lease to ttl from now. ErrLost: it ran out, and may be another's.
	Renew(ctx context.Context, ttl time.Duration) error

	// Release ends the lease if it is still held.
	Release(ctx context.Context) error
}

// What Objects and leases answer, by errors.Is, besides store.ErrBusy. Any other error is trouble with the engine.
var (
	ErrNotFound    = errors.New("no such object")
	ErrExists      = errors.New("there is such an object already")
	ErrTooLarge    = errors.New("larger than the limit")
	ErrFull        = errors.New("the remote has no room")
	ErrUnsupported = errors.New("the remote cannot do this")
	ErrHeld        = errors.New("somebody else holds the lease")
	ErrLost        = errors.New("the lease ran out")
)
