// Package opencl is the OpenCL adapter: devices, contexts, queues, buffers,
// images, programs, kernels and launches, without cgo, and the
// kernstash.Runtime that puts a cache before the compiler.
//
//	cache, _ := kernstash.Open(kernstash.Options{})
//	devices, _ := opencl.Devices(opencl.AnyType)
//	c, _ := opencl.NewContext(cache, devices[0])
//	p, _ := c.Program(ctx, kernstash.Request{Image: image})
//	k, _ := p.Kernel(ctx, "add")
//	err := k.Launch(queue, []int{n}, nil, a, b, int32(n))
//
// # Ownership
//
// Every object is released by who made it, with Release, exactly once; a
// second Release does nothing, and every other call on a released object is an
// error that wraps ErrReleased. There are no finalizers: a driver is never
// called behind the application's back. A context is released last.
//
// # Concurrency
//
// All methods may be called from many goroutines at once, on one object too,
// except Release while another call on that object is under way.
//
// # Worker
//
// What Close has no time to capture is a job for a worker. A program that has one
// started passes kernstash.Options{Starter: worker.ForCache}.
//
// # Errors
//
// What a driver refuses is an *Error, which names the C function and wraps a
// Code: errors.Is(err, opencl.InvalidKernelName).
package opencl
