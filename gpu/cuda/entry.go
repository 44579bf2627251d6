package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/handle"
)

// libraries are where the driver's library is; the second is that of Windows' subsystem for Linux.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// functions are those of CUDA's driver API.
var functions = dl.Functions{Missing: ErrMissing, Open: sync.OnceValues(func() (*dl.Library, error) {
	lib, err := dl.Open(libraries...)
	switch {
	case errors.Is(err, dl.ErrUnsupported):
		return nil, fmt.Errorf("load CUDA: %w", err)
	case err != nil:
		return nil, fmt.Errorf("load CUDA: %w: %w; install NVIDIA's driver (libcuda.so.1 is part of it, not of the toolkit), "+
			"or start the container with its GPUs", ErrNoDriver, err)
	}
	return lib, nil
})}

// find returns a function of a name. One that the library lacks makes only the calls fail that need it.
func find(name string) (dl.Func, error) {
	f, err := functions.Find(name)
	if errors.Is(err, ErrMissing) {
		err = fmt.Errorf("%w (%s)", err, libraryVersion())
	}
	return f, err
}

// call calls a function that returns a CUresult, which is an *Error unless it is
// CUDA_SUCCESS. What needs a context runs within current.
//
//go:uintptrescapes
func call(name string, args ...uintptr) error {
	f, err := find(name)
	if err != nil {
		return err
	}
	if c := Code(int32(f.Call(args...))); c != 0 {
		return &Error{Call: name, Code: c}
	}
	return nil
}

// libraryVersion names the version of CUDA that the driver's library is for.
func libraryVersion() string {
	var v int32
	if f, err := functions.Find("cuDriverGetVersion"); err == nil {
		f.Call(uintptr(unsafe.Pointer(&v)))
	}
	if v == 0 {
		return "libcuda.so.1"
	}
	return fmt.Sprintf("libcuda.so.1 of CUDA %d.%d", v/1000, v%1000/10)
}

// current calls f with a context current on f's thread, and makes current again what was
// before, however f ends. The goroutine keeps its thread meanwhile.
func current(context uintptr, f func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := call("cuCtxPushCurrent_v2", context); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, popCurrent()) }()
	return f()
}

func popCurrent() error {
	var was uintptr
	return call("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&was)))
}

// object is embedded by what holds a driver's handle until it is released.
type object struct {
	handle handle.Handle
	free   func(h uintptr) error
}

// set gives it the handle, and what releases that; what names it in errors.
func (o *object) set(what string, h uintptr, free func(h uintptr) error) {
	o.free = free
	o.handle.Set(what, h)
}

// Handle returns the driver's handle of the object: CUcontext, CUmodule, CUstream, CUevent or
// CUdeviceptr. It is zero once the object is released, and that of the default stream.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// Release gives the object back, once, at once: what is queued must not need memory or a module
// that is released; a stream does first what it still holds. What was made in a context goes before
// that, and kernels are of no use after their module.
func (o *object) Release() error { return o.handle.Release(o.free) }
