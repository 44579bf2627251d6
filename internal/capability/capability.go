// Package capability has what a Runtime of package kernstash may be able to do besides
// building and loading. A Runtime has a capability if it has the methods. An adapter asserts
// that it does, so that a method whose signature changed does not compile. J and R stand for
// kernstash.Job and kernstash.Request, and P for the runtime's program.
package capability

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/store"
)

// Capturer is a Runtime some of whose drivers make code only when a program is
// launched. Their artifact is taken after launches, off the caller's
// path: the adapter tells the core of each new launch with Program.Launched,
// and the core calls Capture when the application pauses.
type Capturer[P, J any] interface {
	// Defers reports whether the driver of a job's devices makes its code at
	// launches, so that Build gives no artifact and Capture gives one.
	Defers(job J) bool

	// Capture returns the artifact of p, ready for the launches that variants
	// names (sorted, each once). again says that an artifact of p was taken
	// before, or that p was itself loaded from one. An error drops the capture
	// and is counted, except ErrBusy: then the core asks again after the next
	// pause. The artifact's Variants may be fewer than was asked for.
	Capture(ctx context.Context, job J, p P, variants []string, again bool) (*store.Artifact, error)
}

// Delegator is a Capturer whose captures a worker can make as well.
type Delegator interface {
	// Delegates reports whether captures are left to a worker when a Cache is closed
	// before they are made.
	Delegates() bool
}

// HeaderSearcher is a Runtime that knows where its compiler looks for header
// files. Programs that read any are cacheable with such a Runtime alone.
type HeaderSearcher[R any] interface {
	// HeaderSearch returns where the compiler of a device looks for the headers of
	// a request besides the directories that options name, while dir is the
	// working directory. An error says that it is not known, and makes programs
	// that read header files uncacheable. Contexts whose Runtimes answer alike for
	// the zero Request answer alike for each.
	HeaderSearch(device int, dir string, r R) (deps.Search, error)
}

// OptionsChecker is a Runtime whose compiler may read files that nobody can know of, because
// of what the options say.
type OptionsChecker interface {
	// CheckOptions returns an error where the words of compile options make what the
	// compiler of a device builds uncacheable.
	CheckOptions(device int, words []string) error
}
