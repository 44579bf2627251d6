package reason

import (
	"cmp"
	"fmt"
)

// Uncacheable says why a build cannot be cached. The zero Uncacheable says that nothing speaks
// against it.
type Uncacheable struct {
	Code   Reason // one of NotCacheable…
	Detail string // what was found
}

// None reports whether there is nothing against caching.
func (u Uncacheable) None() bool { return u == Uncacheable{} }

// String returns the reason for people: "not cacheable: headers (…)".
func (u Uncacheable) String() string {
	if u.None() {
		return "cacheable"
	}
	return fmt.Sprintf("not cacheable: %s (%s)", cmp.Or(u.Code.Short(), "other"), u.Detail)
}
