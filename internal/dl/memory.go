package dl

import (
	"strings"
	"unsafe"
)

// pointer makes an address of C memory a pointer. Such memory is not Go's to
// move or free, which is what the rule against this conversion is about.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// Word returns the word at an address of C memory, which must be readable.
func Word(addr uintptr) uintptr { return *(*uintptr)(pointer(addr)) }

// Bytes returns n bytes of C memory as a slice that shares it. The memory must
// outlive the slice.
func Bytes(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(addr)), n) }

// CString returns s with the NUL that C expects, cut at the first NUL that s
// has itself.
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
