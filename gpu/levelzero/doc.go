// Package levelzero is the Level Zero adapter: devices, contexts, modules, kernels, memory and
// launches, without cgo, and the kernstash.Runtime that puts a cache before the compiler.
//
//	cache, _ := kernstash.Open(kernstash.Options{})
//	devices, _ := levelzero.Devices()
//	c, _ := levelzero.NewContext(cache, devices[0])
//	p, _ := c.Program(ctx, kernstash.Request{Image: image}) // of SPIR-V
//	k, _ := p.Kernel(ctx, "add")
//	err := k.Native().Launch(list, [3]int{n, 1, 1}, a, b, int32(n))
//
// # Ownership
//
// Every object is released by who made it, with Release, exactly once; a second
// Release does nothing, and every other call on a released object is an error that
// wraps ErrReleased. There are no finalizers: a driver is never called behind the
// application's back. A context is released last.
//
// # Concurrency
//
// All methods may be called from many goroutines at once, on one object too, except
// Release while another call on that object is under way, and those of one List.
//
// # Errors
//
// What a driver refuses is an *Error, which names the C function and wraps a Result:
// errors.Is(err, levelzero.InvalidKernelName). Where there is no loader, or no driver
// with a device, errors wrap ErrUnavailable.
package levelzero
