// Package handle holds what a driver gave until it is given back: once, and never used after that.
package handle

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrReleased is wrapped by what is asked of an object that was given back.
var ErrReleased = errors.New("released")

// Handle holds a driver's handle until it is released. The zero value is released. It is
// safe for concurrent use, but Set.
type Handle struct {
	what   string
	handle atomic.Uintptr
}

// Set gives it the handle, when the object is made; what names it in errors.
func (h *Handle) Set(what string, handle uintptr) {
	h.what = what
	h.handle.Store(handle)
}

// Load returns the handle; 0: it was released.
func (h *Handle) Load() uintptr { return h.handle.Load() }

// Get returns the handle, or an error that wraps ErrReleased.
func (h *Handle) Get() (uintptr, error) {
	if own := h.handle.Load(); own != 0 {
		return own, nil
	}
	return 0, fmt.Errorf("%s: %w", h.name(), ErrReleased)
}

func (h *Handle) name() string { return cmp.Or(h.what, "object") }

// Release calls free with the handle, once.
func (h *Handle) Release(free func(uintptr) error) error {
	own := h.handle.Swap(0)
	if own == 0 {
		return nil
	}
	if err := free(own); err != nil {
		return fmt.Errorf("release %s: %w", h.name(), err)
	}
	return nil
}
