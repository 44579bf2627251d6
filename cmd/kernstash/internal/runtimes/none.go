//go:build nogpu

package runtimes

import (
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/store/disk"
)

// All is empty: what reaches a runtime is not linked.
var All []*tool.Runtime

// BuildJob returns an error.
func BuildJob(disk.Options) error { return ErrNone }
