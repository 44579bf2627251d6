// Package cl calls OpenCL's functions, by their names in C; a function here is the C function of
// the same name with "cl" before it, so the specification can be searched for it; outputs are
// returned, and a status that is not CL_SUCCESS is an *Error. Nothing here owns anything: who is
// given an object by a call whose C form starts with clCreate releases it.
//
// The loader is opened, and a function looked up, by the first call that needs it. A function that
// the loader lacks makes only the calls fail that need it, with an error that wraps ErrMissing.
//
// All functions may be called from many goroutines at once, except
// clSetKernelArg on one kernel (OpenCL 3.0, "Thread safety").
package cl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrMissing is wrapped when the loader does not export a function.
var ErrMissing = errors.New("the OpenCL loader does not have it")

// functions are those of the loader.
var functions = dl.Functions{Missing: ErrMissing, Open: sync.OnceValues(func() (*dl.Library, error) {
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if runtime.GOOS == "darwin" {
		names = []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("load OpenCL: %w", err)
	}
	return lib, nil
})}

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

// Code is a status, a cl_int. It is an error, so that errors.Is can compare
// what a call returned with one of the codes.
type Code int32

// The codes that this package tells apart.
const (
	Success             Code = 0
	DeviceNotFound      Code = -1
	InvalidValue        Code = -30
	PlatformNotFoundKHR Code = -1001
)

// codeNames are the names of OpenCL 3.0, and of the loader's extension, without "CL_". They are
// made when an error is told, not whenever a process starts.
var codeNames = sync.OnceValue(func() map[Code]string {
	names := map[Code]string{PlatformNotFoundKHR: "PLATFORM_NOT_FOUND_KHR"}
	for first, list := range map[Code]string{
		-1: `
			DEVICE_NOT_FOUND DEVICE_NOT_AVAILABLE COMPILER_NOT_AVAILABLE MEM_OBJECT_ALLOCATION_FAILURE OUT_OF_RESOURCES
			OUT_OF_HOST_MEMORY PROFILING_INFO_NOT_AVAILABLE MEM_COPY_OVERLAP IMAGE_FORMAT_MISMATCH
			IMAGE_FORMAT_NOT_SUPPORTED BUILD_PROGRAM_FAILURE MAP_FAILURE MISALIGNED_SUB_BUFFER_OFFSET
			EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST COMPILE_PROGRAM_FAILURE LINKER_NOT_AVAILABLE LINK_PROGRAM_FAILURE
			DEVICE_PARTITION_FAILED KERNEL_ARG_INFO_NOT_AVAILABLE`,
		-30: `
			INVALID_VALUE INVALID_DEVICE_TYPE INVALID_PLATFORM INVALID_DEVICE INVALID_CONTEXT INVALID_QUEUE_PROPERTIES
			INVALID_COMMAND_QUEUE INVALID_HOST_PTR INVALID_MEM_OBJECT INVALID_IMAGE_FORMAT_DESCRIPTOR INVALID_IMAGE_SIZE
			INVALID_SAMPLER INVALID_BINARY INVALID_BUILD_OPTIONS INVALID_PROGRAM INVALID_PROGRAM_EXECUTABLE
			INVALID_KERNEL_NAME INVALID_KERNEL_DEFINITION INVALID_KERNEL INVALID_ARG_INDEX INVALID_ARG_VALUE
			INVALID_ARG_SIZE INVALID_KERNEL_ARGS INVALID_WORK_DIMENSION INVALID_WORK_GROUP_SIZE INVALID_WORK_ITEM_SIZE
			INVALID_GLOBAL_OFFSET INVALID_EVENT_WAIT_LIST INVALID_EVENT INVALID_OPERATION INVALID_GL_OBJECT
			INVALID_BUFFER_SIZE INVALID_MIP_LEVEL INVALID_GLOBAL_WORK_SIZE INVALID_PROPERTY INVALID_IMAGE_DESCRIPTOR
			INVALID_COMPILER_OPTIONS INVALID_LINKER_OPTIONS INVALID_DEVICE_PARTITION_COUNT INVALID_PIPE_SIZE
			INVALID_DEVICE_QUEUE INVALID_SPEC_ID MAX_SIZE_RESTRICTION_EXCEEDED`,
	} {
		for i, name := range strings.Fields(list) {
			names[first-Code(i)] = name
		}
	}
	return names
})

// String returns the name that the specification gives the code.
func (c Code) String() string {
	if name, ok := codeNames()[c]; ok {
		return "CL_" + name
	}
	return "status"
}

func (c Code) Error() string { return fmt.Sprintf("%s (%d)", c.String(), int32(c)) }

// Error is a call that failed. It wraps its Code.
type Error struct {
	Call string // the C function
	Code Code
}

func (e *Error) Error() string { return e.Call + ": " + e.Code.Error() }

func (e *Error) Unwrap() error { return e.Code }
