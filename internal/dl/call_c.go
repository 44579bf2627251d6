//go:build kernstash_shared && linux && cgo

package dl

// Within the C library, which is made with cgo anyway: purego looks at types of functions
// when it is loaded, which a host waits for.

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdlib.h>
//
// typedef uintptr_t word;
//
// // A function that takes fewer does not look at the others.
// static word call(word f, const word *a, size_t n)
// {
// 	if (n <= 6)
// 		return ((word (*)(word, word, word, word, word, word))f)(a[0], a[1], a[2], a[3], a[4], a[5]);
// 	return ((word (*)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
// 		word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word))f)(
// 		a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
// 		a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
// }
//
// static word symbol(word handle, const char *name)
// {
// 	return (word)dlsym((void *)handle, name);
// }
//
// static word open(const char *name, int mode, char **error)
// {
// 	word handle = (word)dlopen(name, mode);
// 	*error = handle ? NULL : dlerror(); /* of this thread */
// 	return handle;
// }
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// most arguments of a function.
const most = 32

// Call calls the function in C's calling convention with arguments of at most
// 64 bits each, none of them floating point, 32 at most, and returns the first
// result register: a function that returns an int leaves its upper half
// undefined.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	if f == 0 || len(args) > most {
		panic("dl: no such call")
	}
	var all [most]uintptr
	copy(all[:], args)
	return uintptr(C.call(C.word(f), (*C.word)(unsafe.Pointer(&all[0])), C.size_t(len(args))))
}

// openMode keeps its thread: what dlerror says is of the thread that called dlopen, and is
// freed by that thread's next call.
func openMode(name string, mode C.int) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var text *C.char
	handle := C.open(c, mode, &text)
	if handle == 0 {
		return 0, errors.New(C.GoString(text))
	}
	return uintptr(handle), nil
}

func open(name string) (uintptr, error) { return openMode(name, C.RTLD_NOW|C.RTLD_LOCAL) }

func loaded(name string) (uintptr, error) { return openMode(name, C.RTLD_LAZY|C.RTLD_NOLOAD) }

// anywhere is RTLD_DEFAULT.
const anywhere = uintptr(0)

func symbol(handle uintptr, name string) (uintptr, bool) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	addr := uintptr(C.symbol(C.word(handle), c))
	return addr, addr != 0
}
