// Package cu holds the entry points of CUDA's driver API. A function here is the
// C function of the same name with "cu" before it, so that NVIDIA's reference
// can be searched for it; outputs are returned, and a result that is not
// CUDA_SUCCESS is an *Error. Nothing here owns anything: who is given an object
// by a call whose C form has "Create", "Alloc", "Load" or "Retain" in its name
// gives it back.
//
// The library is opened, and an entry point looked up, by the first call that
// needs it. An entry point that the library lacks makes only the calls fail that
// need it, with an error that wraps ErrMissing.
//
// What needs a context runs within one: see Within. All functions may be called
// from many goroutines at once.
package cu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrMissing is wrapped when the driver's library does not export an entry point.
var ErrMissing = errors.New("the driver's library does not have it")

// ErrNoDriver is wrapped where the driver's library cannot be opened, or cannot
// be initialised.
var ErrNoDriver = errors.New("no NVIDIA driver that works")

// libraries are where the driver's library is; the second is that of Windows'
// subsystem for Linux.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// Load opens the driver's library. Calling it is not needed.
var Load = sync.OnceValues(func() (*dl.Library, error) {
	lib, err := dl.Open(libraries...)
	switch {
	case errors.Is(err, dl.ErrUnsupported):
		return nil, fmt.Errorf("load CUDA: %w", err)
	case err != nil:
		return nil, fmt.Errorf("load CUDA: %w: %w; install NVIDIA's driver (libcuda.so.1 is part of it, not of the toolkit), "+
			"or start the container with its GPUs", ErrNoDriver, err)
	}
	return lib, nil
})

// entry is one entry point.
type entry struct {
	name string
	addr atomic.Uintptr // zero until it is looked up
}

func (e *entry) find() (dl.Func, error) {
	if a := e.addr.Load(); a != 0 {
		return dl.Func(a), nil
	}
	lib, err := Load()
	if err != nil {
		return 0, err
	}
	f, ok := lib.Symbol(e.name)
	if !ok {
		return 0, fmt.Errorf("%s: %w (%s)", e.name, ErrMissing, libraryVersion(lib))
	}
	e.addr.Store(uintptr(f))
	return f, nil
}

// there says whether the library has the entry point.
func (e *entry) there() bool {
	_, err := e.find()
	return err == nil
}

// call calls a function that returns a CUresult.
//
//go:uintptrescapes
func (e *entry) call(args ...uintptr) error {
	f, err := e.find()
	if err != nil {
		return err
	}
	return e.check(Code(int32(f.Call(args...))))
}

func (e *entry) check(c Code) error {
	if c == Success {
		return nil
	}
	return &Error{Call: e.name, Code: c}
}

// libraryVersion names the library with the version of CUDA that it is for.
func libraryVersion(lib *dl.Library) string {
	f, ok := lib.Symbol("cuDriverGetVersion")
	if !ok {
		return lib.Name()
	}
	v := new(int32)
	if Code(int32(f.Call(uintptr(unsafe.Pointer(v))))) != Success {
		return lib.Name()
	}
	return fmt.Sprintf("%s of CUDA %d.%d", lib.Name(), *v/1000, *v%1000/10)
}

// addr returns the address of a slice's first element, nil for none.
func addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}

// text returns what is before the first NUL.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
