package dl

import (
	"bytes"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"
)

// pointer makes an address of C memory a pointer. Such memory is not Go's to
// move or free, which is what the rule against this conversion is about.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// Word returns the word at an address of C memory, which must be readable.
func Word(addr uintptr) uintptr { return *(*uintptr)(pointer(addr)) }

// Bytes returns n bytes of C memory as a slice that shares it. The memory must outlive the slice.
func Bytes(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(addr)), n) }

// Addr returns the address of a slice's memory; nil for none.
func Addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}

// Text returns the string in memory that C has filled: what is before the first NUL.
func Text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// CString returns s with the NUL that C expects, cut at the first NUL that s has itself.
func CString(s string) []byte {
	s, _, _ = strings.Cut(s, "\x00")
	return append([]byte(s), 0)
}

// String returns a copy of the C string at an address; "" for NULL.
func String(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	n := 0
	for Bytes(addr, n+1)[n] != 0 { // what is behind the last byte may not be there
		n++
	}
	return string(Bytes(addr, n))
}

// Environ is os.Environ as C code in this process sees it. Where Go code is a
// library in a host of C, os.Environ is what it was when the library was loaded.
// As with getenv, C code must not change the environment meanwhile.
func Environ() []string {
	at := environ.Load()
	if at == 0 {
		// An executable that uses the variable has a copy of it, and that counts.
		at, _ = symbol(anywhere, "environ")
	}
	if at == 0 {
		return os.Environ()
	}
	return StringsAt(Word(at))
}

var environ atomic.Uintptr

// SetEnviron says where C's variable environ is, for a library that is written in C, too: it is not
// looked up then. Looking takes the dynamic linker's lock, which is held as long as constructors
// run of a library that is being loaded; one that waits for another thread of ours waited for ever.
func SetEnviron(at uintptr) { environ.Store(at) }

// StringsAt returns copies of the strings of a list of C, which ends with a zero word, of NULL none. Each word
// is read once: of a list that C code changes meanwhile some strings may be old ones, and no word
// is taken for another.
func StringsAt(list uintptr) (all []string) {
	for ; list != 0; list += unsafe.Sizeof(list) {
		s := Word(list)
		if s == 0 {
			break
		}
		all = append(all, String(s))
	}
	return all
}
