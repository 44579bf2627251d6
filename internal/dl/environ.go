package dl

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

var libc = sync.OnceValues(func() (*Library, error) { return Open("libc.so.6", "libSystem.B.dylib", "libc.so") })

// Environ is os.Environ as C code in this process sees it. Where Go code is a
// library in a host of C, os.Environ is what it was when the library was loaded.
// As with getenv, C code must not change the environment meanwhile. The slice is the same one as
// long as nothing has changed: callers must not write to it.
func Environ() []string {
	if at := environ.Load(); at != 0 {
		return environAt(at)
	}
	l, err := libc()
	if err != nil {
		return os.Environ()
	}
	// An executable that uses the variable has a copy of it, and that counts.
	at, ok := symbol(anywhere, "environ")
	if !ok {
		at, ok = symbol(l.handle, "environ")
	}
	if !ok {
		return os.Environ()
	}
	return environAt(at)
}

var environ atomic.Uintptr

// SetEnviron says where C's variable environ is, for a library that is written in C,
// too: it is not looked up then. Looking takes the dynamic linker's lock, which is
// held as long as constructors run of a library that is being loaded; one that
// waits for another thread of ours waited for ever.
func SetEnviron(at uintptr) { environ.Store(at) }

func environAt(at uintptr) []string {
	list := Word(at)
	if list == 0 {
		return nil
	}
	return StringsAt(list)
}

// last is what StringsAt returned last.
var last atomic.Pointer[[]string]

// StringsAt returns copies of the strings of a list of C, which ends with a zero
// word. They share one piece of memory. Each word is read once: of a list that C code
// changes meanwhile some strings may be old ones, and no word is taken for another.
func StringsAt(list uintptr) []string {
	if all := last.Load(); all != nil && areAt(list, *all) {
		return *all
	}
	ends, text := make([]int, 0, 64), make([]byte, 0, 4<<10)
	for at := list; ; at += unsafe.Sizeof(at) {
		s := Word(at)
		if s == 0 {
			break
		}
		text = append(text, Bytes(s, length(s))...)
		ends = append(ends, len(text))
	}
	all, from := make([]string, len(ends)), 0
	for i, end := range ends {
		all[i] = unsafe.String(unsafe.SliceData(text[from:]), end-from)
		from = end
	}
	last.Store(&all)
	return all
}

// areAt reports whether the strings of a list of C are these.
func areAt(list uintptr, all []string) bool {
	for _, s := range all {
		at := Word(list)
		if at == 0 || !isAt(at, s) {
			return false
		}
		list += unsafe.Sizeof(list)
	}
	return Word(list) == 0
}

// isAt reports whether the string of C at an address is s. Like length, it looks at no byte behind the last one.
func isAt(addr uintptr, s string) bool {
	for i := range len(s) {
		if *(*byte)(pointer(addr + uintptr(i))) != s[i] {
			return false
		}
	}
	return *(*byte)(pointer(addr + uintptr(len(s)))) == 0
}

// length is strlen. It looks at one byte after the other: what is behind the last
// one may not be there.
func length(addr uintptr) int {
	for n := 0; ; n++ {
		if *(*byte)(pointer(addr + uintptr(n))) == 0 {
			return n
		}
	}
}
