package cl

import (
	"runtime"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
)

// layer is kernstash's own layer for unchanged applications. It may be in this
// process too, beneath us (`kernstash run`). It would ask the cache for what we
// build because the cache does not have it, and wait for us, its own process.
var layer = sync.OnceValue(func() dl.Func {
	if lib, ok := dl.Loaded("libkernstash_opencl_layer.so"); ok {
		if f, ok := lib.Symbol("kernstash_layer_aside"); ok {
			return f
		}
	}
	return 0
})

// aside makes the layer take no notice of the programs that this thread creates
// until the returned function is called, in the same goroutine. Drivers, and the
// layers with them, are loaded before there is a context to create programs in.
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
