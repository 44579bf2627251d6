package rtc

import (
	"regexp"
	"sync"
)

// expression returns what compiles a regular expression when it is first asked for: compiling all takes
// longer than a hit, and every process would do it.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
