// Package reentry has kernstash's own shims, which may be in the process of a Go program
// too (`kernstash run`), take no notice of what an adapter does. They would ask the cache
// for what we build because the cache does not have it, and wait for us, their own
// process.
package reentry

import (
	"runtime"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
)

// Of returns what makes a shim take no notice of what this thread does until the function
// that it returns is called, in the same goroutine. The shim is one of libraries, if the
// process has loaded it by the first call: what is to be built has been preceded by calls
// that load it. The function of the name switches.
func Of(function string, libraries ...string) (own func() (done func())) {
	found := sync.OnceValue(func() dl.Func {
		for _, name := range libraries {
			if lib, ok := dl.Loaded(name); ok {
				if f, ok := lib.Symbol(function); ok {
					return f
				}
			}
		}
		return 0
	})
	return func() (done func()) {
		f := found()
		if f == 0 {
			return func() {}
		}
		runtime.LockOSThread()
		f.Call(1)
		return func() {
			f.Call(0)
			runtime.UnlockOSThread()
		}
	}
}
