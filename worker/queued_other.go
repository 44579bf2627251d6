//go:build !linux

package worker

import "time"

// queuedFor is not known here.
func queuedFor(int) time.Duration { return 0 }
