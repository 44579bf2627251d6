package dl

import (
	"os"
	"sync/atomic"
	"unsafe"
)

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

// SetEnviron says where C's variable environ is, for a library that is written in C,
// too: it is not looked up then. Looking takes the dynamic linker's lock, which is
// held as long as constructors run of a library that is being loaded; one that
// waits for another thread of ours waited for ever.
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
