// Package writesignal hears of writes that failed and may have sent a signal to the thread that
// wrote: at a limit of files' lengths (SIGXFSZ), or where nobody reads (SIGPIPE).
package writesignal

import (
	"errors"
	"sync/atomic"
	"syscall"
)

var failed atomic.Bool

// Noted reports whether there was such a write, at some time. A library in a host asks.
func Noted() bool { return failed.Load() }

// Note notes the error of a write.
func Note(err error) {
	if err != nil && (errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EPIPE)) {
		failed.Store(true)
	}
}
