// Package kernstash builds GPU programs once: every later thread, process and
// restart starts warm.
//
// # Use
//
// A [Cache] holds what a process shares: the disk tier, settings, statistics.
// A [Context] is the memory tier of one GPU context, over a [Runtime]: package
// gpu/opencl has one for OpenCL, [Compiler] is one for a compiler of your own.
//
//	cache, err := kernstash.Open(kernstash.Options{})
//	defer cache.Close()
//	x := kernstash.NewContext(cache, runtime, kernstash.ContextOptions{})
//	image, err := kernstash.NewImage(key.OpenCLC, source)
//	p, err := x.Program(ctx, kernstash.Request{Image: image, CompileOptions: "-DN=16"})
//	defer p.Release()
//	k, err := p.Kernel(ctx, "matmul")
//	defer k.Release()
//
// [Context.Program] answers from memory, else from disk, else it builds, once,
// however many goroutines and processes ask. Make an [Image] once and keep it:
// making it hashes the code. [Context.Preload] builds many programs in
// parallel, [Context.Prepare] saves the last few hundred nanoseconds.
//
// # What is counted and released
//
// Programs and kernels are counted: each one that a call returned is released
// once. Eviction drops the cache's own use only. [Context.Close] releases
// everything, held or not; no finalizer ever calls a driver. Close the Cache
// before the process ends: it waits, for a bounded time, for what is still to be
// captured and stored, and says what it dropped.
//
// # Errors
//
// Whatever is wrong with the cache is a miss, counted and explained: see
// [Cache.Stats], `kernstash doctor` and KERNSTASH_TRACE. A caller gets the
// compiler's own diagnostic (*[BuildError]), a failure of the driver, the cause
// of its own context's end, [ErrInvalid] for a request that makes no sense, or
// [ErrClosed]. [Open] fails only for a setting that makes no sense.
//
// # Promises
//
// Before version 1 the API may change; keys, once given out, only with
// key.Schema, and files on disk only with their format version, so that an old
// and a new program can share a cache directory: each sees the other's entries
// as misses at worst.
package kernstash
