package levelzero

import "github.com/kernstash/kernstash/internal/handle"

// object is embedded by what holds a driver's handle until it is released. Nothing of it
// is for who uses the package.
type object struct{ handle handle.Handle }

func (o *object) set(what string, h uintptr) { o.handle.Set(what, h) }

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) { return o.handle.Get() }

// release calls free with the handle, once.
func (o *object) release(free func(uintptr) error) error { return o.handle.Release(free) }
