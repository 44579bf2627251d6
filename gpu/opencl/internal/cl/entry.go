// Package cl holds OpenCL's entry points. An entry point or a function here is the C
// function of the same name with "cl" before it, so the specification can be searched for
// it; outputs are returned, and a status that is not CL_SUCCESS is an *Error.
// Nothing here owns anything: who is given an object by a call whose C form
// starts with clCreate releases it.
//
// The loader is opened, and an entry point looked up, by the first call that
// needs it. An entry point that the loader lacks makes only the calls fail that
// need it, with an error that wraps ErrMissing.
//
// All functions may be called from many goroutines at once, except SetKernelArg
// on one kernel (OpenCL 3.0, "Thread safety" of clSetKernelArg).
package cl

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrMissing is wrapped when the loader does not export an entry point.
var ErrMissing = errors.New("the OpenCL loader does not have it")

// Load opens the OpenCL loader. Calling it is not needed.
var Load = sync.OnceValues(func() (*dl.Library, error) {
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if runtime.GOOS == "darwin" {
		names = []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("load OpenCL: %w", err)
	}
	return lib, nil
})

// Entry is one entry point.
type Entry struct {
	name string
	addr atomic.Uintptr // zero until it is looked up
}

// at returns the entry point of a name at an address; for none, one that the
// loader is asked for.
func at(name string, addr uintptr) *Entry {
	e := &Entry{name: name}
	e.addr.Store(addr)
	return e
}

func (e *Entry) find() (dl.Func, error) { return dl.Lookup(&e.addr, Load, e.name, ErrMissing) }

// Status calls a function that returns a cl_int.
//
//go:uintptrescapes
func (e *Entry) Status(args ...uintptr) error {
	f, err := e.find()
	if err != nil {
		return err
	}
	return e.check(Code(int32(f.Call(args...))))
}

// Create calls a function that returns an object and writes its status through one more
// argument, the last.
//
//go:uintptrescapes
func (e *Entry) Create(args ...uintptr) (uintptr, error) {
	f, err := e.find()
	if err != nil {
		return 0, err
	}
	code := new(Code)
	var pin runtime.Pinner // its address is passed as a number
	pin.Pin(code)
	defer pin.Unpin()
	h := f.Call(append(args, uintptr(unsafe.Pointer(code)))...)
	return h, e.check(*code)
}

func (e *Entry) check(c Code) error {
	if c == Success {
		return nil
	}
	return &Error{Call: e.name, Code: c}
}
