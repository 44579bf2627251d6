package deps

import (
	"cmp"
	"fmt"

	"github.com/kernstash/kernstash/reason"
)

// Reason says why a build cannot be cached. The zero Reason is none.
type Reason struct {
	Code   reason.Reason // one of reason.NotCacheable…
	Detail string        // what was found
}

// None reports whether there is nothing against caching.
func (r Reason) None() bool { return r == Reason{} }

// String returns the reason for people: "not cacheable: headers (…)".
func (r Reason) String() string {
	if r.None() {
		return "cacheable"
	}
	return fmt.Sprintf("not cacheable: %s (%s)", cmp.Or(r.Code.Short(), "other"), r.Detail)
}
