package levelzero

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/handle"
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

// create calls a function that writes a handle through its last argument, which is added here.
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
	if err := with(dl.Addr(all)); err != nil {
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
	err := e.call(h, uintptr(unsafe.Pointer(&n)), uintptr(dl.Addr(b)))
	return b[:min(int(n), len(b))], err
}

// object is embedded by what holds a driver's handle until it is released.
type object struct {
	handle handle.Handle
	free   func(h uintptr) error
}

// set gives it the handle, and what releases that; what names it in errors.
func (o *object) set(what string, h uintptr, free func(h uintptr) error) {
	o.free = free
	o.handle.Set(what, h)
}

// Handle returns the driver's handle of the object, of a Buffer its address; zero once it is
// released.
func (o *object) Handle() uintptr { return o.handle.Load() }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// handles returns the handles of objects.
func handles[T interface{ get() (uintptr, error) }](all []T) ([]uintptr, error) {
	ids := make([]uintptr, len(all))
	for i, one := range all {
		var err error
		if ids[i], err = one.get(); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// do calls f with the handle; what says in its error what was to be done.
func (o *object) do(what string, f func(h uintptr) error) error {
	h, err := o.get()
	if err == nil {
		err = f(h)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, resources(err))
	}
	return nil
}

// made returns an object, or none where making it failed.
func made[T any](o *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Release gives the object back, once. What was made in a context goes before that, and kernels before
// their module.
func (o *object) Release() error { return o.handle.Release(o.free) }
