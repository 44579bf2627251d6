package dl

import (
	"os"
	"unsafe"
)

// Environ is os.Environ as C code in this process sees it. Where Go code is a
// library in a host of C, os.Environ is what it was when the library was loaded.
// As with getenv, C code must not change the environment meanwhile.
func Environ() []string {
	l, err := libc()
	if err != nil {
		return os.Environ()
	}
	// An executable that uses the variable has a copy of it, and that counts.
	at, ok := symbol(anywhere, "environ")
	if !ok {
		at, ok = symbol(l.handle, "environ")
	}
	length, ok2 := l.Symbol("strlen")
	if !ok || !ok2 {
		return os.Environ()
	}
	list := Word(at)
	if list == 0 {
		return nil
	}
	return stringsAt(list, func(addr uintptr) int { return int(length.Call(addr)) })
}

// stringsAt returns the strings of a list of C, which ends with a zero word, by
// what tells their lengths.
func stringsAt(list uintptr, length func(addr uintptr) int) []string {
	var all []string
	for ; ; list += unsafe.Sizeof(list) {
		addr := Word(list)
		if addr == 0 {
			return all
		}
		all = append(all, string(Bytes(addr, length(addr))))
	}
}
