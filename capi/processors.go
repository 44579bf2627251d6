//go:build linux && cgo

package main

import (
	goruntime "runtime"
	"sync"
	"syscall"
	"time"
)

// mostProcessors bounds what the runtime uses: it keeps memory for each, and what is
// done here at the same time is little.
const mostProcessors = 8

// useProcessors has the runtime use more than the one that it begins with
// (overlay/processors.go.txt), when the first program is there: all else stands still for
// that, if only for microseconds.
var useProcessors = sync.OnceFunc(func() { time.AfterFunc(firstProgram, useProcessorsNow) })

// useProcessorsNow is for a program that reads header files, which may be a thousand to be
// looked at, and for one that is not there.
var useProcessorsNow = sync.OnceFunc(func() {
	if _, decided := syscall.Getenv("GOMAXPROCS"); !decided { // by the user
		goruntime.GOMAXPROCS(min(goruntime.NumCPU(), mostProcessors))
	}
})

// handOver is for a call that goes back to C to wait there for what it began or woke: that
// runs first. A thread in C keeps its processor until Go's monitor takes it away, which
// begins late (overlay/monitor.go.txt). Of several processors another one has it by then.
func handOver() {
	if goruntime.GOMAXPROCS(0) == 1 {
		goruntime.Gosched()
	}
}
