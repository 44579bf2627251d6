// Package ptx makes machine code of PTX with the assembler that NVIDIA's driver
// brings in libcuda, which is always there with its OpenCL.
package ptx

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrNoDevice is wrapped when no device of the compute capability is there:
// the assembler works for the devices that are.
var ErrNoDevice = errors.New("no device of this compute capability")

// Error is what a function of libcuda returned, or what the assembler said.
type Error struct {
	Call string
	Code int32  // CUresult
	Log  string // of the assembler
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: CUDA error %d", e.Call, e.Code)
	if e.Log != "" {
		s += ": " + e.Log
	}
	return s
}

// The numbers of cuda.h.
const (
	attributeMajor = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor = 76
	inputPTX       = 1 // CU_JIT_INPUT_PTX
	jitErrorBuffer = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorSize   = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
	maxLog         = 8 << 10
)

// Assemble makes a cubin of PTX, for a compute capability as "9.0". It is
// expensive once in a process, some 200 ms: CUDA is initialised and a context
// made, which stays.
func Assemble(ptx []byte, capability string) ([]byte, error) {
	if len(ptx) == 0 {
		return nil, errors.New("assemble PTX: there is none")
	}
	// CUDA's current context is the thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := load()
	if err != nil {
		return nil, fmt.Errorf("assemble PTX: %w", err)
	}
	device, err := l.find(capability)
	if err == nil {
		err = l.enter(device)
	}
	if err != nil {
		return nil, fmt.Errorf("assemble PTX: %w", err)
	}
	cubin, err := l.link(ptx)
	if err := errors.Join(err, l.call("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(new(uintptr))))); err != nil {
		return nil, fmt.Errorf("assemble PTX: %w", err)
	}
	return cubin, nil
}

type library struct{ *dl.Library }

var load = sync.OnceValues(func() (library, error) {
	lib, err := dl.Open("libcuda.so.1", "libcuda.so")
	if err != nil {
		return library{}, err
	}
	l := library{lib}
	return l, l.call("cuInit", 0)
})

// call calls a function that returns a CUresult.
//
//go:uintptrescapes
func (l library) call(name string, args ...uintptr) error {
	f, ok := l.Symbol(name)
	if !ok {
		return fmt.Errorf("%s: the driver does not have it", name)
	}
	if code := int32(f.Call(args...)); code != 0 {
		return &Error{Call: name, Code: code}
	}
	return nil
}

// find returns the first device of a compute capability.
func (l library) find(capability string) (int32, error) {
	count := new(int32)
	if err := l.call("cuDeviceGetCount", uintptr(unsafe.Pointer(count))); err != nil {
		return 0, err
	}
	for i := range *count {
		device, major, minor := new(int32), new(int32), new(int32)
		err := errors.Join(
			l.call("cuDeviceGet", uintptr(unsafe.Pointer(device)), uintptr(i)),
			l.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(major)), attributeMajor, uintptr(*device)),
			l.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(minor)), attributeMinor, uintptr(*device)),
		)
		if err == nil && fmt.Sprintf("%d.%d", *major, *minor) == capability {
			return *device, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrNoDevice, capability)
}

// enter makes the device's primary context current.
func (l library) enter(device int32) error {
	context := new(uintptr)
	if err := l.call("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(context)), uintptr(device)); err != nil {
		return err
	}
	return l.call("cuCtxPushCurrent_v2", *context)
}

// link runs the assembler for the device of the current context.
func (l library) link(ptx []byte) ([]byte, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	log := make([]byte, maxLog)
	options := []int32{jitErrorBuffer, jitErrorSize}
	// Values are pointers, or numbers in the place of pointers.
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), maxLog}
	pin.Pin(&log[0])
	pin.Pin(&options[0])
	pin.Pin(&values[0])
	state := new(uintptr)
	err := l.call("cuLinkCreate_v2", uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])), uintptr(unsafe.Pointer(state)))
	if err != nil {
		return nil, err
	}
	text := append(ptx[:len(ptx):len(ptx)], 0)
	name := dl.CString("kernstash")
	err = l.call("cuLinkAddData_v2", *state, inputPTX, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	code, size := new(uintptr), new(uintptr)
	if err == nil {
		err = l.call("cuLinkComplete", *state, uintptr(unsafe.Pointer(code)), uintptr(unsafe.Pointer(size)))
	}
	var cubin []byte
	if err == nil { // the code is the state's
		cubin = append(cubin, dl.Bytes(*code, int(*size))...)
	}
	var failed *Error
	if errors.As(err, &failed) {
		said, _, _ := strings.Cut(string(log), "\x00")
		failed.Log = strings.TrimSpace(said)
	}
	return cubin, errors.Join(err, l.call("cuLinkDestroy", *state))
}
