//go:build linux && cgo

package main

import (
	goruntime "runtime"
	"syscall"
)

// mostProcessors bounds what the runtime uses: it keeps memory for each, and what is
// done here at the same time is little.
const mostProcessors = 8

func init() {
	if _, decided := syscall.Getenv("GOMAXPROCS"); !decided && goruntime.GOMAXPROCS(0) > mostProcessors { // by the user
		goruntime.GOMAXPROCS(mostProcessors)
	}
}
