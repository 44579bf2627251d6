// Package pattern has regular expressions compiled when they are first needed: compiling all takes longer than a
// hit, and every process would do it.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns what compiles a regular expression once, at its first call. It panics then where that makes no sense,
// as regexp.MustCompile does.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
