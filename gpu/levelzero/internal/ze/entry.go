// Package ze holds Level Zero's entry points. A function here is the C function of
// the same name with "ze" before it, so the specification can be searched for it;
// outputs are returned, and a result that is not ZE_RESULT_SUCCESS is an *Error.
// Nothing here owns anything: who is given an object by a Create or an Alloc
// destroys or frees it.
//
// The loader is opened, and an entry point looked up, by the first call that needs
// it. One that the loader lacks makes only the calls fail that need it, with an
// error that wraps ErrMissing.
//
// All functions may be called from many goroutines at once, as far as the
// specification lets threads do so: not on one command list or one kernel.
package ze

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ErrMissing is wrapped when the loader does not export an entry point.
var ErrMissing = errors.New("the Level Zero loader does not have it")

// LoaderName is the soname of the loader.
const LoaderName = "libze_loader.so.1"

// Load opens the Level Zero loader. Calling it is not needed.
var Load = sync.OnceValues(func() (*dl.Library, error) {
	lib, err := dl.Open(LoaderName, "libze_loader.so")
	if err != nil {
		return nil, fmt.Errorf("load Level Zero: %w", err)
	}
	return lib, nil
})

// entry is one entry point.
type entry struct {
	name string
	addr atomic.Uintptr // zero until it is looked up
}

// at returns the entry point of a name at an address; for none, one that the
// loader is asked for.
func at(name string, addr uintptr) *entry {
	e := &entry{name: name}
	e.addr.Store(addr)
	return e
}

func (e *entry) find() (dl.Func, error) {
	if a := e.addr.Load(); a != 0 {
		return dl.Func(a), nil
	}
	lib, err := Load()
	if err != nil {
		return 0, err
	}
	f, ok := lib.Symbol(e.name)
	if !ok {
		return 0, fmt.Errorf("%s: %w", e.name, ErrMissing)
	}
	e.addr.Store(uintptr(f))
	return f, nil
}

// call calls a function that returns a ze_result_t.
//
//go:uintptrescapes
func (e *entry) call(args ...uintptr) error {
	f, err := e.find()
	if err != nil {
		return err
	}
	if r := Result(uint32(f.Call(args...))); r != Success {
		return &Error{Call: e.name, Result: r}
	}
	return nil
}

// create calls a function that writes a handle through its last argument, which is
// added here.
//
//go:uintptrescapes
func (e *entry) create(args ...uintptr) (uintptr, error) {
	f, err := e.find()
	if err != nil {
		return 0, err
	}
	h := new(uintptr)
	pinned := pin(unsafe.Pointer(h))
	defer pinned.Unpin()
	args = append(args, uintptr(unsafe.Pointer(h)))
	if r := Result(uint32(f.Call(args...))); r != Success {
		return 0, &Error{Call: e.name, Result: r}
	}
	return *h, nil
}

// addr returns the address of a slice's memory; nil for none.
func addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}
