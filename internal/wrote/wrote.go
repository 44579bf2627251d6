// Package wrote hears of writes that failed and may have sent a signal to the thread that
// wrote: at a limit of files' lengths (SIGXFSZ), or where nobody reads (SIGPIPE).
package wrote

import (
	"errors"
	"syscall"
)

// Failed is called after such a write, on the goroutine that wrote; nil: nobody cares. A
// library in a host sets it, in an init.
var Failed func()

// Look looks at the error of a write.
func Look(err error) {
	if err != nil && Failed != nil && (errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EPIPE)) {
		Failed()
	}
}
