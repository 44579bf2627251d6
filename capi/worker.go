//go:build linux

package main

// #include <stdlib.h>
// #include "start.h"
import "C"

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/worker"
)

var starter struct {
	once sync.Once
	is   *worker.Starter
}

// startWorker sees that somebody does the jobs that are left for the process's cache.
func startWorker(j kernstash.Jobs) {
	starter.once.Do(func() {
		starter.is = worker.NewStarter(worker.StartOptions{
			Jobs: j, Environ: dl.Environ(), Spawn: spawnDetached, Library: C.GoString(C.ks_front.path),
		})
	})
	starter.is.Start()
}

// spawnDetached starts a program that the host does not notice.
func spawnDetached(path string, argv, environ []string) error {
	var made []unsafe.Pointer
	defer func() {
		for _, p := range made {
			C.free(p)
		}
	}()
	text := func(s string) *C.char {
		c := C.CString(s)
		made = append(made, unsafe.Pointer(c))
		return c
	}
	list := func(all []string) **C.char {
		c := (**C.char)(C.calloc(C.size_t(len(all)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
		made = append(made, unsafe.Pointer(c))
		for i, s := range all {
			unsafe.Slice(c, len(all)+1)[i] = text(s)
		}
		return c
	}
	if errno := C.ks_spawn_detached(text(path), list(argv), list(environ)); errno != 0 {
		return fmt.Errorf("start %s: %w", path, syscall.Errno(errno))
	}
	return nil
}
