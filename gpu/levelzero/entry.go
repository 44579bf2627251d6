package levelzero

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/reentry"
)

// The functions of Level Zero, by their names in the specification. The loader is opened,
// and a function looked up, by the first call that needs it; one that the loader lacks makes
// only the calls fail that need it.
var (
	zeInit                     = entry{name: "zeInit"}
	zeContextCreate            = entry{name: "zeContextCreate"}
	zeContextDestroy           = entry{name: "zeContextDestroy"}
	zeDeviceGetQueueGroups     = entry{name: "zeDeviceGetCommandQueueGroupProperties"}
	zeMemAllocDevice           = entry{name: "zeMemAllocDevice"}
	zeMemAllocHost             = entry{name: "zeMemAllocHost"}
	zeMemAllocShared           = entry{name: "zeMemAllocShared"}
	zeMemFree                  = entry{name: "zeMemFree"}
	zeModuleCreate             = entry{name: "zeModuleCreate"}
	zeModuleDestroy            = entry{name: "zeModuleDestroy"}
	zeModuleDynamicLink        = entry{name: "zeModuleDynamicLink"}
	zeModuleBuildLogGetString  = entry{name: "zeModuleBuildLogGetString"}
	zeModuleBuildLogDestroy    = entry{name: "zeModuleBuildLogDestroy"}
	zeModuleGetNativeBinary    = entry{name: "zeModuleGetNativeBinary"}
	zeModuleGetKernelNames     = entry{name: "zeModuleGetKernelNames"}
	zeModuleGetProperties      = entry{name: "zeModuleGetProperties"}
	zeModuleGetGlobalPointer   = entry{name: "zeModuleGetGlobalPointer"}
	zeModuleGetFunctionPointer = entry{name: "zeModuleGetFunctionPointer"}
	zeKernelCreate             = entry{name: "zeKernelCreate"}
	zeKernelDestroy            = entry{name: "zeKernelDestroy"}
	zeKernelGetProperties      = entry{name: "zeKernelGetProperties"}
	zeKernelSetGroupSize       = entry{name: "zeKernelSetGroupSize"}
	zeKernelSuggestGroupSize   = entry{name: "zeKernelSuggestGroupSize"}
	zeKernelSetArgumentValue   = entry{name: "zeKernelSetArgumentValue"}
	zeKernelSetIndirectAccess  = entry{name: "zeKernelSetIndirectAccess"}
	zeCommandQueueCreate       = entry{name: "zeCommandQueueCreate"}
	zeCommandQueueDestroy      = entry{name: "zeCommandQueueDestroy"}
	zeCommandQueueExecute      = entry{name: "zeCommandQueueExecuteCommandLists"}
	zeCommandQueueSynchronize  = entry{name: "zeCommandQueueSynchronize"}
	zeCommandListCreate        = entry{name: "zeCommandListCreate"}
	zeCommandListDestroy       = entry{name: "zeCommandListDestroy"}
	zeCommandListClose         = entry{name: "zeCommandListClose"}
	zeCommandListReset         = entry{name: "zeCommandListReset"}
	zeCommandListLaunch        = entry{name: "zeCommandListAppendLaunchKernel"}
	zeCommandListCopy          = entry{name: "zeCommandListAppendMemoryCopy"}
	zeCommandListFill          = entry{name: "zeCommandListAppendMemoryFill"}
	zeCommandListBarrier       = entry{name: "zeCommandListAppendBarrier"}
	zeEventPoolCreate          = entry{name: "zeEventPoolCreate"}
	zeEventPoolDestroy         = entry{name: "zeEventPoolDestroy"}
	zeEventCreate              = entry{name: "zeEventCreate"}
	zeEventDestroy             = entry{name: "zeEventDestroy"}
	zeEventHostSynchronize     = entry{name: "zeEventHostSynchronize"}
	zeEventQueryStatus         = entry{name: "zeEventQueryStatus"}
)

// loader opens the Level Zero loader.
var loader = sync.OnceValues(func() (*dl.Library, error) {
	lib, err := dl.Open("libze_loader.so.1", "libze_loader.so")
	if err != nil {
		return nil, fmt.Errorf("load Level Zero: %w", err)
	}
	return lib, nil
})

// stepAside has the interposer take no notice of the modules that this thread creates.
var stepAside = reentry.Of("kernstash_levelzero_aside", "libkernstash_preload.so", "libkernstash_levelzero.so")

// entry is one function.
type entry struct {
	name string
	addr atomic.Uintptr // zero until it is looked up
}

func (e *entry) find() (dl.Func, error) { return dl.Lookup(&e.addr, loader, e.name, ErrMissing) }

// call calls a function that returns a ze_result_t, which is an *Error unless it is
// ZE_RESULT_SUCCESS.
//
//go:uintptrescapes
func (e *entry) call(args ...uintptr) error {
	f, err := e.find()
	if err != nil {
		return err
	}
	if r := Result(uint32(f.Call(args...))); r != 0 {
		return &Error{Call: e.name, Result: r}
	}
	return nil
}

// create calls a function that writes a handle through its last argument, which is
// added here.
//
//go:uintptrescapes
func (e *entry) create(args ...uintptr) (uintptr, error) {
	h := new(uintptr)
	pinned := pin(unsafe.Pointer(h))
	defer pinned.Unpin()
	if err := e.call(append(args, uintptr(unsafe.Pointer(h)))...); err != nil {
		return 0, err
	}
	return *h, nil
}

// list calls a function that fills an array, whose elements are as given before, after asking
// how long it is.
func list[T any](e *entry, before T, args ...uintptr) ([]T, error) {
	n := new(uint32)
	pinned := pin(unsafe.Pointer(n))
	defer pinned.Unpin()
	with := func(to unsafe.Pointer) error {
		return e.call(append(append([]uintptr{}, args...), uintptr(unsafe.Pointer(n)), uintptr(to))...)
	}
	if err := with(nil); err != nil || *n == 0 {
		return nil, err
	}
	all := slices.Repeat([]T{before}, int(*n))
	pinned.Pin(&all[0])
	if err := with(addr(all)); err != nil {
		return nil, err
	}
	return all[:min(int(*n), len(all))], nil
}

// bytes calls a function that fills memory, after asking how much it is.
func (e *entry) bytes(h uintptr) ([]byte, error) {
	var n uintptr
	if err := e.call(h, uintptr(unsafe.Pointer(&n)), 0); err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, n)
	err := e.call(h, uintptr(unsafe.Pointer(&n)), uintptr(addr(b)))
	return b[:min(int(n), len(b))], err
}

// pin keeps what is pointed to in place until Unpin.
func pin(p ...unsafe.Pointer) *runtime.Pinner {
	pinned := new(runtime.Pinner)
	for _, one := range p {
		if one != nil {
			pinned.Pin(one)
		}
	}
	return pinned
}

// addr returns the address of a slice's memory; nil for none.
func addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}
