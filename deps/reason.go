package deps

import (
	"fmt"

	"github.com/kernstash/kernstash/stats"
)

// Reason says why a build cannot be cached. The zero Reason is none.
type Reason struct {
	Counter stats.Counter // one of stats.NotCacheable…
	Detail  string        // what was found
}

// None reports whether there is nothing against caching.
func (r Reason) None() bool { return r == Reason{} }

// String returns the reason for people: "not cacheable: headers (…)".
func (r Reason) String() string {
	if r.None() {
		return "cacheable"
	}
	kind := "other"
	switch r.Counter {
	case stats.NotCacheableHeaders:
		kind = "headers"
	case stats.NotCacheableChanged:
		kind = "headers changed during the build"
	case stats.NotCacheableTime:
		kind = "date or time"
	case stats.NotCacheableFile:
		kind = "reads a file"
	case stats.NotCacheableOptions:
		kind = "options with side effects"
	case stats.NotCacheableSize:
		kind = "size of the device image"
	case stats.NotCacheableCheap:
		kind = "cheap to build"
	case stats.NotCacheableRuntime:
		kind = "the runtime"
	}
	return fmt.Sprintf("not cacheable: %s (%s)", kind, r.Detail)
}
