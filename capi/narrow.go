//go:build linux

package main

// #include "narrow.h"
import "C"

import (
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// processors is how many the host has, as long as the runtime knows of one.
var processors atomic.Int32

// mostProcessors bounds what the runtime uses: it keeps memory for each, and what is
// done here at the same time is little.
const mostProcessors = 8

func init() { processors.Store(int32(C.ks_widen())) }

// useProcessors has the runtime use more than the one that it began with, when the
// first program is there: all else stands still for that, if only for microseconds.
func useProcessors() {
	if n := processors.Swap(0); n > 1 {
		time.AfterFunc(firstProgram, func() { goruntime.GOMAXPROCS(int(min(n, mostProcessors))) })
	}
}
