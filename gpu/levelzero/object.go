package levelzero

import (
	"fmt"
	"sync/atomic"
)

// object holds a driver's handle until it is released.
type object struct {
	what   string
	handle atomic.Uintptr
}

// set gives the object its handle, when it is made.
func (o *object) set(what string, handle uintptr) {
	o.what = what
	o.handle.Store(handle)
}

// get returns the handle, or an error that wraps ErrReleased.
func (o *object) get() (uintptr, error) {
	if h := o.handle.Load(); h != 0 {
		return h, nil
	}
	return 0, fmt.Errorf("%s: %w", o.name(), ErrReleased)
}

func (o *object) name() string {
	if o.what == "" {
		return "Level Zero object"
	}
	return o.what
}

// release calls free with the handle, once.
func (o *object) release(free func(uintptr) error) error {
	h := o.handle.Swap(0)
	if h == 0 {
		return nil
	}
	if err := free(h); err != nil {
		return fmt.Errorf("release %s: %w", o.name(), err)
	}
	return nil
}
