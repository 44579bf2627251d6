// Package cuda is the CUDA adapter: devices, contexts, streams, events, memory,
// modules, kernels and launches through NVIDIA's driver, NVRTC for CUDA C++, and a
// cache before both compilers, without cgo.
//
//	cache, _ := kernstash.Open(kernstash.Options{})
//	devices, _ := cuda.Devices()
//	c, _ := cuda.NewContext(cache, devices[0])
//	p, _ := c.Compile(ctx, rtc.Request{Source: source, Expressions: []string{"scale<float>"}})
//	k, _ := p.Kernel(ctx, "scale<float>")
//	err := k.Native().Launch(nil, []int{blocks}, []int{256}, memory, int32(n))
//
// # What is cached
//
// NVRTC's work, under a key of what NVRTC is asked for and of its own version and
// files: for a real architecture (sm_90) that is machine code, and all there is
// to do. For a virtual one (compute_90) it is PTX; what the driver's compiler
// makes of that is cached under a key of its own, which the driver is part of. PTX
// that the application has takes the second step alone, and machine code that it
// has none (Context.LoadModule).
//
// NVRTC is asked for exactly what it is asked for by an application under
// `kernstash run`, so the keys are the same.
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
// All methods may be called from many goroutines at once, on one object too,
// except Release while another call on that object is under way.
//
// # Errors
//
// What the driver refuses is an *Error, which names the C function and wraps a
// Code: errors.Is(err, cuda.NotFound). No driver, or none that works, is
// ErrNoDriver; a driver that is too old for a call is ErrMissing; no NVRTC is
// rtc.ErrNoLibrary. Each says what to do.
package cuda
