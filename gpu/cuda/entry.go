package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// The functions of CUDA's driver API, by their names in NVIDIA's reference. The library is
// opened, and a function looked up, by the first call that needs it; one that the library
// lacks makes only the calls fail that need it. What needs a context runs within current.
var (
	cuInit                     = entry{name: "cuInit"}
	cuGetErrorName             = entry{name: "cuGetErrorName"}
	cuDriverGetVersion         = entry{name: "cuDriverGetVersion"}
	cuDeviceGetCount           = entry{name: "cuDeviceGetCount"}
	cuDeviceGet                = entry{name: "cuDeviceGet"}
	cuDeviceGetName            = entry{name: "cuDeviceGetName"}
	cuDeviceGetUuid            = entry{name: "cuDeviceGetUuid"}
	cuDeviceGetAttribute       = entry{name: "cuDeviceGetAttribute"}
	cuDeviceTotalMem           = entry{name: "cuDeviceTotalMem_v2"}
	cuDeviceGetPCIBusId        = entry{name: "cuDeviceGetPCIBusId"}
	cuDevicePrimaryCtxRetain   = entry{name: "cuDevicePrimaryCtxRetain"}
	cuDevicePrimaryCtxRelease  = entry{name: "cuDevicePrimaryCtxRelease_v2"}
	cuCtxCreate                = entry{name: "cuCtxCreate_v2"}
	cuCtxDestroy               = entry{name: "cuCtxDestroy_v2"}
	cuCtxPushCurrent           = entry{name: "cuCtxPushCurrent_v2"}
	cuCtxPopCurrent            = entry{name: "cuCtxPopCurrent_v2"}
	cuCtxGetCurrent            = entry{name: "cuCtxGetCurrent"}
	cuCtxGetDevice             = entry{name: "cuCtxGetDevice"}
	cuCtxSynchronize           = entry{name: "cuCtxSynchronize"}
	cuModuleLoadDataEx         = entry{name: "cuModuleLoadDataEx"}
	cuModuleUnload             = entry{name: "cuModuleUnload"}
	cuModuleGetFunction        = entry{name: "cuModuleGetFunction"}
	cuModuleGetGlobal          = entry{name: "cuModuleGetGlobal_v2"}
	cuModuleGetFunctionCount   = entry{name: "cuModuleGetFunctionCount"}
	cuModuleEnumerateFunctions = entry{name: "cuModuleEnumerateFunctions"}
	cuFuncGetName              = entry{name: "cuFuncGetName"}
	cuFuncGetAttribute         = entry{name: "cuFuncGetAttribute"}
	cuFuncSetAttribute         = entry{name: "cuFuncSetAttribute"}
	cuFuncGetParamInfo         = entry{name: "cuFuncGetParamInfo"}
	cuLinkCreate               = entry{name: "cuLinkCreate_v2"}
	cuLinkAddData              = entry{name: "cuLinkAddData_v2"}
	cuLinkComplete             = entry{name: "cuLinkComplete"}
	cuLinkDestroy              = entry{name: "cuLinkDestroy"}
	cuMemAlloc                 = entry{name: "cuMemAlloc_v2"}
	cuMemFree                  = entry{name: "cuMemFree_v2"}
	cuMemGetInfo               = entry{name: "cuMemGetInfo_v2"}
	cuMemcpyHtoDAsync          = entry{name: "cuMemcpyHtoDAsync_v2"}
	cuMemcpyDtoHAsync          = entry{name: "cuMemcpyDtoHAsync_v2"}
	cuMemcpyDtoDAsync          = entry{name: "cuMemcpyDtoDAsync_v2"}
	cuMemsetD8Async            = entry{name: "cuMemsetD8Async"}
	cuMemsetD32Async           = entry{name: "cuMemsetD32Async"}
	cuStreamCreate             = entry{name: "cuStreamCreate"}
	cuStreamDestroy            = entry{name: "cuStreamDestroy_v2"}
	cuStreamSynchronize        = entry{name: "cuStreamSynchronize"}
	cuStreamQuery              = entry{name: "cuStreamQuery"}
	cuStreamWaitEvent          = entry{name: "cuStreamWaitEvent"}
	cuEventCreate              = entry{name: "cuEventCreate"}
	cuEventDestroy             = entry{name: "cuEventDestroy_v2"}
	cuEventRecord              = entry{name: "cuEventRecord"}
	cuEventQuery               = entry{name: "cuEventQuery"}
	cuEventSynchronize         = entry{name: "cuEventSynchronize"}
	cuEventElapsedTime         = entry{name: "cuEventElapsedTime"}
	cuLaunchKernel             = entry{name: "cuLaunchKernel"}
)

// libraries are where the driver's library is; the second is that of Windows'
// subsystem for Linux.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// library opens the driver's library.
var library = sync.OnceValues(func() (*dl.Library, error) {
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

// entry is one function.
type entry struct {
	name string
	addr atomic.Uintptr // zero until it is looked up
}

func (e *entry) find() (dl.Func, error) {
	f, err := dl.Lookup(&e.addr, library, e.name, ErrMissing)
	if errors.Is(err, ErrMissing) {
		err = fmt.Errorf("%w (%s)", err, libraryVersion())
	}
	return f, err
}

// call calls a function that returns a CUresult, which is an *Error unless it is
// CUDA_SUCCESS.
//
//go:uintptrescapes
func (e *entry) call(args ...uintptr) error {
	f, err := e.find()
	if err != nil {
		return err
	}
	if c := Code(int32(f.Call(args...))); c != 0 {
		return &Error{Call: e.name, Code: c}
	}
	return nil
}

// libraryVersion names the version of CUDA that the driver's library is for.
func libraryVersion() string {
	f, err := dl.Lookup(&cuDriverGetVersion.addr, library, cuDriverGetVersion.name, ErrMissing)
	var v int32
	if err == nil {
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
	if err := cuCtxPushCurrent.call(context); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, popCurrent()) }()
	return f()
}

func popCurrent() error {
	var was uintptr
	return cuCtxPopCurrent.call(uintptr(unsafe.Pointer(&was)))
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
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
