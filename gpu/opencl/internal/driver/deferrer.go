package driver

import (
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/store"
)

// A Deferrer is a Driver that makes code at the first launch of a local size.
type Deferrer interface {
	// Launch queues a launch with enqueue.
	Launch(enqueue func() error) error

	// Opened notes a new queue. Closing waits until the queue is empty, and forgets it.
	Opened(q cl.QueueID)
	Closing(q cl.QueueID) error

	// Rest waits until the driver touches nothing more of what is released next.
	Rest()

	// Binary returns a program's binary. It waits for a moment without launches.
	Binary(p Program) ([]byte, error)

	// Capture returns what the driver made of a program, and which of the variants that has; an
	// error that wraps kernstash.ErrBusy where something is launched meanwhile.
	Capture(p Program, variants []string) (*store.Artifact, error)

	// Prepare has the driver make code before any launch; nil where it makes none.
	Prepare(p Program, o Ahead) *store.Artifact

	// CacheOff reports whether the driver's own cache, which matters here, is off in an
	// environment. An error says that programs cannot be restored safely.
	CacheOff(p Platform, environ []string) (off bool, err error)

	// Loadable returns what to make a program of in the place of a binary.
	Loadable(p Platform, binary []byte) ([]byte, error)
}

// Ahead says for which launches code is made before them.
type Ahead struct {
	LocalSizes [][3]int // for every kernel
	Variants   []string // launches that were seen
	Unlaunched bool     // what there is without launches, where nothing else is there

	// LocalSize returns the local size that the driver chooses for a global size.
	LocalSize func(global [3]uintptr) (local [3]uint32, err error)
}
