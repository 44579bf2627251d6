//go:build !linux

package worker

import (
	"os/exec"
	"time"
)

func alone(*exec.Cmd)                   {}
func detach(*exec.Cmd)                  {}
func end(*exec.Cmd)                     {}
func start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }
func yield()                            {}

// YieldSession does nothing where sessions are not scheduled.
func YieldSession() {}

// CloseInherited does nothing where it is not known what Go's runtime has opened.
func CloseInherited(int) {}

// queue is not known here.
type queue struct{}

func (queue) watch(int)           {}
func (queue) look() time.Duration { return 0 }
