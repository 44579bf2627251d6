//go:build !linux && !darwin && !windows

package lock

import "github.com/kernstash/kernstash/internal/safefs"

// Try takes n bytes from offset on for this description, or ErrBusy.
func Try(safefs.File, int64, int64) error { return ErrUnsupported }

// Release gives back what Try took.
func Release(safefs.File, int64, int64) error { return ErrUnsupported }
