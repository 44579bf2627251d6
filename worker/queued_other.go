//go:build !linux

package worker

import "time"

// queue is not known here.
type queue struct{}

func (queue) watch(int)           {}
func (queue) look() time.Duration { return 0 }
