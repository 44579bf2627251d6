package ze

import (
	"runtime"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
)

// layer is kernstash's own interposer for unchanged applications. It may be in this
// process too, between us and the loader (`kernstash run`). It would ask the cache
// for what we build because the cache does not have it, and wait for us, its own
// process.
var layer = sync.OnceValue(func() dl.Func {
	for _, name := range []string{"libkernstash_preload.so", "libkernstash_levelzero.so"} {
		if lib, ok := dl.Loaded(name); ok {
			if f, ok := lib.Symbol("kernstash_levelzero_aside"); ok {
				return f
			}
		}
	}
	return 0
})

// aside makes the interposer take no notice of the modules that this thread creates
// until the returned function is called, in the same goroutine.
func aside() (done func()) {
	f := layer()
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
