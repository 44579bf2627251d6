package dl

import (
	"fmt"
	"sync"
	"unsafe"
)

var libc = sync.OnceValues(func() (*Library, error) { return Open("libc.so.6", "libSystem.B.dylib", "libc.so") })

// Getenv returns what C code in this process sees as an environment variable,
// and whether it is set. It differs from os.Getenv only where C code has
// changed its environment.
func Getenv(name string) (string, bool, error) {
	l, err := libc()
	if err != nil {
		return "", false, fmt.Errorf("getenv %s: %w", name, err)
	}
	get, ok := l.Symbol("getenv")
	length, ok2 := l.Symbol("strlen")
	if !ok || !ok2 {
		return "", false, fmt.Errorf("getenv %s: %w", name, ErrUnsupported)
	}
	c := CString(name)
	addr := get.Call(uintptr(unsafe.Pointer(&c[0])))
	if addr == 0 {
		return "", false, nil
	}
	return string(Bytes(addr, int(length.Call(addr)))), true, nil
}
