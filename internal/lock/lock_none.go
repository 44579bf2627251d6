//go:build !linux && !darwin && !windows

package lock

import "github.com/kernstash/kernstash/internal/beneath"

// Try takes n bytes from offset on for this description, or ErrBusy.
func Try(beneath.File, int64, int64) error { return ErrUnsupported }

// Release gives back what Try took.
func Release(beneath.File, int64, int64) error { return ErrUnsupported }
