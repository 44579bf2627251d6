package rtc

import (
	"runtime"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
)

// interposer is kernstash's own, for unchanged applications, which may be in this
// process too (`kernstash run`). It would ask the cache for what we compile because
// the cache does not have it, and wait for us, its own process.
var interposer = sync.OnceValue(func() dl.Func {
	if lib, ok := dl.Loaded("libkernstash_preload.so"); ok {
		if f, ok := lib.Symbol("kernstash_rtc_aside"); ok {
			return f
		}
	}
	return 0
})

// aside makes the interposer take no notice of the programs that this thread creates
// until the returned function is called, in the same goroutine.
func aside() (done func()) {
	f := interposer()
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
