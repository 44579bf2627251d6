//go:build linux

package main

// #include "objects.h"
import "C"

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
)

func init() { drivers.Objects = objectsInMemory }

// objectsSize is what drivers and compilers take; where it is not enough, none are
// told of.
const objectsSize = 8 << 10

func objectsInMemory(object uintptr, prefixes []string) []drivers.Object {
	asked := dl.CString(strings.Join(prefixes, "\n") + "\n")
	for i, c := range asked {
		if c == '\n' {
			asked[i] = 0
		}
	}
	b := make([]byte, objectsSize)
	used := C.ks_objects(C.uintptr_t(object), (*C.char)(unsafe.Pointer(&asked[0])), (*C.char)(unsafe.Pointer(&b[0])), C.size_t(len(b)))
	if used > C.size_t(len(b)) {
		return nil
	}
	text := string(b[:used])
	next := func() (s string) {
		s, text, _ = strings.Cut(text, "\x00")
		return s
	}
	var all []drivers.Object
	for text != "" {
		o := drivers.Object{Driver: next() == "d", Path: next()}
		at, err := strconv.ParseUint(next(), 16, 64)
		if err != nil || at == 0 {
			return nil
		}
		o.At = uintptr(at)
		o.Library = elfid.Library{Soname: next(), ID: next()}
		for name := next(); name != ""; name = next() {
			o.Needed = append(o.Needed, name)
		}
		all = append(all, o)
	}
	return all
}
