//go:build !nogpu && kernstash_shared

package dl

/*
#cgo LDFLAGS: -ldl
#cgo noescape call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uintptr_t word;

// A function that takes less than it is given leaves the rest alone, in the calling conventions of all processors
// that the library is built for.
static word call(word f, const word *given, size_t n)
{
	if (n <= 6) {
		word a[6] = {0};
		memcpy(a, given, n * sizeof *a);
		return ((word (*)(word, word, word, word, word, word))f)(a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	word a[32] = {0};
	memcpy(a, given, n * sizeof *a);
	return ((word (*)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
		word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word))f)(
		a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
		a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
}

// What dlerror says is of the thread that called dlopen.
static word open_library(const char *name, int mode, char *said, size_t size)
{
	void *handle = dlopen(name, mode);
	const char *why;
	if (handle == NULL && (why = dlerror()) != NULL)
		snprintf(said, size, "%s", why);
	return (word)handle;
}

static word find_symbol(word handle, const char *name) { return (word)dlsym((void *)handle, name); }
*/
import "C"

import (
	"errors"
	"unsafe"
)

// The library for C hosts is a cgo program in any case: it needs no purego, whose types and start every process would
// pay for (docs/decisions/207-calls-and-reads-of-a-first-hit.md).

// Call calls the function as in builds without cgo.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	if len(args) > 32 {
		panic("dl: more than 32 arguments")
	}
	return uintptr(C.call(C.word(f), (*C.word)(unsafe.Pointer(unsafe.SliceData(args))), C.size_t(len(args))))
}

func open(name string) (uintptr, error) { return dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL) }

func loaded(name string) (uintptr, error) { return dlopen(name, C.RTLD_LAZY|C.RTLD_NOLOAD) }

func dlopen(name string, mode C.int) (uintptr, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	said := make([]byte, 1024)
	handle := C.open_library(text, mode, (*C.char)(unsafe.Pointer(&said[0])), C.size_t(len(said)))
	if handle == 0 {
		return 0, errors.New(C.GoString((*C.char)(unsafe.Pointer(&said[0]))))
	}
	return uintptr(handle), nil
}

// anywhere is the handle of all that the process has loaded at its start.
const anywhere = uintptr(0)

func symbol(handle uintptr, name string) (uintptr, bool) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	addr := C.find_symbol(C.word(handle), text)
	return uintptr(addr), addr != 0
}
