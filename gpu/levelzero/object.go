package levelzero

import (
	"fmt"

	"github.com/kernstash/kernstash/internal/handle"
)

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
