//go:build linux

package main

// #include "start.h"
import "C"

import (
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// mostProcessors bounds what the runtime uses: it keeps memory for each, and what is
// done here at the same time is little.
const mostProcessors = 8

func init() {
	if _, decided := syscall.Getenv("GOMAXPROCS"); !decided && goruntime.GOMAXPROCS(0) > mostProcessors { // by the user
		goruntime.GOMAXPROCS(mostProcessors)
	}
}

// Go keeps memory that it may need again. A host is quiet for hours after it has
// built its programs, so what was garbage by then is given back to the system, and pages of code with it.

// often has Go collect its garbage when a quarter of what is in use has come to
// it, and at a megabyte: an application that did not ask for us is to lose little memory, and
// artifacts come one by one.
const often = 25

// collectOften begins with that a little later: the first program leaves a megabyte
// behind, and is not to wait while it is collected. By then most of the library's pages have been
// needed for the last time: the kernel maps some around each that is touched, on newer
// systems hundreds. It collects at once, while the compiler is busy or all is quiet: the next
// who asks for memory would have to wait for it, who is the host that stores what it built.
func collectOften() { time.AfterFunc(firstProgram, collectNow) }

func collectNow() {
	collecting.Lock()
	if collecting.searches > 0 { // which the compiler waits for
		collecting.Unlock()
		collectOften()
		return
	}
	collecting.often = true
	debug.SetGCPercent(often)
	collecting.Unlock()
	goruntime.GC()
	C.ks_let_pages_go()
}

// rarely is while header files are read and scanned, most of which stay until they are
// written: a thousand are thirty megabytes, and a collector that came sixteen times meanwhile
// took a fifth of the time.
const rarely = 3000

var collecting struct {
	sync.Mutex
	often    bool // it has begun with that
	searches int
}

// collectRarely has Go collect its garbage rarely until what it returns is called, by all
// who called it. It is called once.
func collectRarely() (over func()) {
	collecting.Lock()
	defer collecting.Unlock()
	if collecting.searches++; collecting.searches == 1 {
		debug.SetGCPercent(rarely)
	}
	return func() {
		collecting.Lock()
		defer collecting.Unlock()
		if collecting.searches--; collecting.searches > 0 {
			return
		}
		if collecting.often {
			debug.SetGCPercent(often)
		} // else it begins with that soon
	}
}

const firstProgram = 20 * time.Millisecond

// quiet is how long nothing must have been asked for.
const quiet = 500 * time.Millisecond

// trimmer gives back what is not needed when all is quiet. It begins with the first call, so that a
// process that only has this package linked is left alone.
var trimmer = sync.OnceValue(func() *time.Timer {
	return time.AfterFunc(quiet, func() {
		debug.FreeOSMemory()
		C.ks_let_pages_go()
	})
})

// used notes a call that left garbage, and sees that it goes when all is quiet.
func used() { trimmer().Reset(quiet) }
