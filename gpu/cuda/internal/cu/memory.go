package cu

import "unsafe"

// Stream is a CUstream; zero is the default one. Event is a CUevent.
type (
	Stream uintptr
	Event  uintptr
)

var (
	cuMemAlloc          = entry{name: "cuMemAlloc_v2"}
	cuMemFree           = entry{name: "cuMemFree_v2"}
	cuMemGetInfo        = entry{name: "cuMemGetInfo_v2"}
	cuMemcpyHtoDAsync   = entry{name: "cuMemcpyHtoDAsync_v2"}
	cuMemcpyDtoHAsync   = entry{name: "cuMemcpyDtoHAsync_v2"}
	cuMemcpyDtoDAsync   = entry{name: "cuMemcpyDtoDAsync_v2"}
	cuMemsetD8Async     = entry{name: "cuMemsetD8Async"}
	cuMemsetD32Async    = entry{name: "cuMemsetD32Async"}
	cuStreamCreate      = entry{name: "cuStreamCreate"}
	cuStreamDestroy     = entry{name: "cuStreamDestroy_v2"}
	cuStreamSynchronize = entry{name: "cuStreamSynchronize"}
	cuStreamQuery       = entry{name: "cuStreamQuery"}
	cuStreamWaitEvent   = entry{name: "cuStreamWaitEvent"}
	cuEventCreate       = entry{name: "cuEventCreate"}
	cuEventDestroy      = entry{name: "cuEventDestroy_v2"}
	cuEventRecord       = entry{name: "cuEventRecord"}
	cuEventQuery        = entry{name: "cuEventQuery"}
	cuEventSynchronize  = entry{name: "cuEventSynchronize"}
	cuEventElapsedTime  = entry{name: "cuEventElapsedTime"}
	cuLaunchKernel      = entry{name: "cuLaunchKernel"}
)

// MemAlloc makes memory of the current context.
func MemAlloc(size int) (Pointer, error) {
	p := new(Pointer)
	err := cuMemAlloc.call(uintptr(unsafe.Pointer(p)), uintptr(size))
	return *p, err
}

// MemFree ends it.
func MemFree(p Pointer) error { return cuMemFree.call(uintptr(p)) }

// MemGetInfo returns the free bytes and all bytes of the current context's device.
func MemGetInfo() (free, total uint64, err error) {
	f, t := new(uint64), new(uint64)
	err = cuMemGetInfo.call(uintptr(unsafe.Pointer(f)), uintptr(unsafe.Pointer(t)))
	return *f, *t, err
}

// MemcpyHtoDAsync queues copying to the device; from must stay until it is done.
func MemcpyHtoDAsync(to Pointer, from []byte, s Stream) error {
	return cuMemcpyHtoDAsync.call(uintptr(to), uintptr(addr(from)), uintptr(len(from)), uintptr(s))
}

// MemcpyDtoHAsync queues copying from the device; to must stay until it is done.
func MemcpyDtoHAsync(to []byte, from Pointer, s Stream) error {
	return cuMemcpyDtoHAsync.call(uintptr(addr(to)), uintptr(from), uintptr(len(to)), uintptr(s))
}

// MemcpyDtoDAsync queues copying within the device.
func MemcpyDtoDAsync(to, from Pointer, size int, s Stream) error {
	return cuMemcpyDtoDAsync.call(uintptr(to), uintptr(from), uintptr(size), uintptr(s))
}

// MemsetD8Async queues setting bytes.
func MemsetD8Async(p Pointer, value byte, n int, s Stream) error {
	return cuMemsetD8Async.call(uintptr(p), uintptr(value), uintptr(n), uintptr(s))
}

// MemsetD32Async queues setting n words of 32 bits.
func MemsetD32Async(p Pointer, value uint32, n int, s Stream) error {
	return cuMemsetD32Async.call(uintptr(p), uintptr(value), uintptr(n), uintptr(s))
}

// StreamNonBlocking is CU_STREAM_NON_BLOCKING.
const StreamNonBlocking = 1

// StreamCreate makes a stream.
func StreamCreate(flags uint32) (Stream, error) {
	s := new(Stream)
	err := cuStreamCreate.call(uintptr(unsafe.Pointer(s)), uintptr(flags))
	return *s, err
}

// StreamDestroy ends a stream when all that was queued in it is done.
func StreamDestroy(s Stream) error { return cuStreamDestroy.call(uintptr(s)) }

// StreamSynchronize waits until all that was queued is done.
func StreamSynchronize(s Stream) error { return cuStreamSynchronize.call(uintptr(s)) }

// StreamQuery is NotReady as long as something is queued.
func StreamQuery(s Stream) error { return cuStreamQuery.call(uintptr(s)) }

// StreamWaitEvent makes what is queued from now on wait for an event.
func StreamWaitEvent(s Stream, e Event) error {
	return cuStreamWaitEvent.call(uintptr(s), uintptr(e), 0)
}

// EventDisableTiming is CU_EVENT_DISABLE_TIMING.
const EventDisableTiming = 2

// EventCreate makes an event.
func EventCreate(flags uint32) (Event, error) {
	e := new(Event)
	err := cuEventCreate.call(uintptr(unsafe.Pointer(e)), uintptr(flags))
	return *e, err
}

// EventDestroy ends an event.
func EventDestroy(e Event) error { return cuEventDestroy.call(uintptr(e)) }

// EventRecord queues an event.
func EventRecord(e Event, s Stream) error { return cuEventRecord.call(uintptr(e), uintptr(s)) }

// EventQuery is NotReady as long as the event has not come.
func EventQuery(e Event) error { return cuEventQuery.call(uintptr(e)) }

// EventSynchronize waits for an event.
func EventSynchronize(e Event) error { return cuEventSynchronize.call(uintptr(e)) }

// EventElapsedTime returns the milliseconds between two events.
func EventElapsedTime(from, to Event) (float32, error) {
	ms := new(float32)
	err := cuEventElapsedTime.call(uintptr(unsafe.Pointer(ms)), uintptr(from), uintptr(to))
	return *ms, err
}

// LaunchKernel queues a kernel. params are the addresses of the arguments; they
// and the arguments must be pinned.
func LaunchKernel(f Function, grid, block [3]uint32, shared uint32, s Stream, params []unsafe.Pointer) error {
	return cuLaunchKernel.call(uintptr(f), uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
		uintptr(block[0]), uintptr(block[1]), uintptr(block[2]), uintptr(shared), uintptr(s), uintptr(addr(params)), 0)
}
