//go:build !nogpu && !kernstash_shared && ((linux && (amd64 || arm64 || loong64 || riscv64)) || (darwin && (amd64 || arm64)))

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Call calls the function in C's calling convention with arguments of at most 64 bits each, none of
// them floating point, 32 at most, and returns the first result register: a function that returns
// an int leaves its upper half undefined.
//
// As with [syscall.Syscall], a Go pointer is passed as uintptr(unsafe.Pointer(p))
// written in the argument list, which keeps its target alive and in place
// until the call returns. What that memory points to in turn must be pinned.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(f), args...)
	return r
}

// open keeps its thread: what dlerror says is of the thread that called dlopen.
func open(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// noLoad is RTLD_NOLOAD of glibc and musl; that of macOS is another.
const noLoad = 0x4

func loaded(name string) (uintptr, error) {
	if runtime.GOOS != "linux" {
		return 0, ErrUnsupported
	}
	runtime.LockOSThread() // as in open
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_LAZY|noLoad)
}

// anywhere is the handle of all that the process has loaded at its start.
const anywhere = uintptr(purego.RTLD_DEFAULT)

func symbol(handle uintptr, name string) (uintptr, bool) {
	addr, err := purego.Dlsym(handle, name)
	return addr, err == nil && addr != 0
}
