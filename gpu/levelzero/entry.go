package levelzero

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/reentry"
)

// functions are those of the Level Zero loader.
var functions = dl.Functions{Missing: ErrMissing, Open: sync.OnceValues(func() (*dl.Library, error) {
	lib, err := dl.Open("libze_loader.so.1", "libze_loader.so")
	if err != nil {
		return nil, fmt.Errorf("load Level Zero: %w", err)
	}
	return lib, nil
})}

// stepAside has the interposer take no notice of the modules that this thread creates.
var stepAside = reentry.Of("kernstash_levelzero_aside", "libkernstash_preload.so", "libkernstash_levelzero.so")

// entry is a function of Level Zero, by its name in the specification.
type entry struct {
	name string
	at   dl.Func // 0: it is the loader's
}

// ze returns the loader's function of a name. One that the loader lacks makes only the calls fail that need it.
func ze(name string) entry { return entry{name: name} }

// destroy returns what calls a function with a handle alone.
func destroy(name string) func(h uintptr) error {
	return func(h uintptr) error { return ze(name).call(h) }
}

// call calls a function that returns a ze_result_t, which is an *Error unless it is
// ZE_RESULT_SUCCESS.
//
//go:uintptrescapes
func (e entry) call(args ...uintptr) error {
	f := e.at
	if f == 0 {
		var err error
		if f, err = functions.Find(e.name); err != nil {
			return err
		}
	}
	if r := Result(uint32(f.Call(args...))); r != 0 {
		return &Error{Call: e.name, Result: r}
	}
	return nil
}

// create calls a function that writes a handle through its last argument, which is
// added here.
//
//go:uintptrescapes
func (e entry) create(args ...uintptr) (uintptr, error) {
	h := new(uintptr)
	var pinned runtime.Pinner
	pinned.Pin(h)
	defer pinned.Unpin()
	if err := e.call(append(args, uintptr(unsafe.Pointer(h)))...); err != nil {
		return 0, err
	}
	return *h, nil
}

// list calls a function that fills an array, whose elements are as given before, after asking
// how long it is.
func list[T any](e entry, before T, args ...uintptr) ([]T, error) {
	n := new(uint32)
	var pinned runtime.Pinner
	pinned.Pin(n)
	defer pinned.Unpin()
	with := func(to unsafe.Pointer) error {
		return e.call(append(append([]uintptr{}, args...), uintptr(unsafe.Pointer(n)), uintptr(to))...)
	}
	if err := with(nil); err != nil || *n == 0 {
		return nil, err
	}
	all := slices.Repeat([]T{before}, int(*n))
	pinned.Pin(&all[0])
	if err := with(addr(all)); err != nil {
		return nil, err
	}
	return all[:min(int(*n), len(all))], nil
}

// bytes calls a function that fills memory, after asking how much it is.
func (e entry) bytes(h uintptr) ([]byte, error) {
	var n uintptr
	if err := e.call(h, uintptr(unsafe.Pointer(&n)), 0); err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, n)
	err := e.call(h, uintptr(unsafe.Pointer(&n)), uintptr(addr(b)))
	return b[:min(int(n), len(b))], err
}

// addr returns the address of a slice's memory; nil for none.
func addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}
