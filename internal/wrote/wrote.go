// Package wrote hears of writes that failed and may have sent a signal to the thread that
// wrote: at a limit of files' lengths (SIGXFSZ), or where nobody reads (SIGPIPE).
package wrote

import (
	"errors"
	"sync/atomic"
	"syscall"
)

var failed atomic.Bool

// Failed reports whether there was such a write, at some time. A library in a host asks.
func Failed() bool { return failed.Load() }

// Look looks at the error of a write.
func Look(err error) {
	if err != nil && (errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EPIPE)) {
		failed.Store(true)
	}
}
