// Package cl calls OpenCL's functions, by their names in C; a function here is the C
// function of the same name with "cl" before it, so the specification can be searched for
// it; outputs are returned, and a status that is not CL_SUCCESS is an *Error.
// Nothing here owns anything: who is given an object by a call whose C form
// starts with clCreate releases it.
//
// The loader is opened, and a function looked up, by the first call that
// needs it. A function that the loader lacks makes only the calls fail that
// need it, with an error that wraps ErrMissing.
//
// All functions may be called from many goroutines at once, except
// clSetKernelArg on one kernel (OpenCL 3.0, "Thread safety").
package cl

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrMissing is wrapped when the loader does not export a function.
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

// functions are those of the loader.
var functions = dl.Functions{Missing: ErrMissing, Open: Load}

// Status calls a function that returns a cl_int.
//
//go:uintptrescapes
func Status(name string, args ...uintptr) error {
	f, err := functions.Find(name)
	if err != nil {
		return err
	}
	return check(name, Code(int32(f.Call(args...))))
}

// Create calls a function that returns an object and writes its status through one more
// argument, the last.
//
//go:uintptrescapes
func Create(name string, args ...uintptr) (uintptr, error) {
	f, err := functions.Find(name)
	if err != nil {
		return 0, err
	}
	code := new(Code)
	var pin runtime.Pinner // its address is passed as a number
	pin.Pin(code)
	defer pin.Unpin()
	h := f.Call(append(args, uintptr(unsafe.Pointer(code)))...)
	return h, check(name, *code)
}

func check(name string, c Code) error {
	if c == Success {
		return nil
	}
	return &Error{Call: name, Code: c}
}
