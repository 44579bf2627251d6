//go:build linux

package main

// #include <stdlib.h>
// #include "layer_calls.h"
// #include "spawn.h"
// #include "start.h"
import "C"

import (
	"fmt"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

// theLayer serves the process; nil: it stays out. It is written once, before
// anybody gets the functions.
var theLayer *layer.Layer

func layerOpen(arg unsafe.Pointer) {
	used()
	c := (*C.struct_ksl_open_call)(arg)
	defer func() {
		if recover() != nil {
			theLayer, c.open = nil, 0
		}
	}()
	collectOften()
	l, err := layer.Open(layer.Options{Left: func() { layerWorker().Start() }})
	if err == nil {
		theLayer, c.open = l, 1
	}
}

// layerWorker sees that somebody does the jobs that are left.
var layerWorker = sync.OnceValue(func() *worker.Starter {
	return worker.NewStarter(worker.StartOptions{
		Jobs: theLayer.Cache().Jobs(), Environ: dl.Environ(), Spawn: spawnDetached, Library: C.GoString(C.ks_library_path()),
	})
})

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

// guardLayer makes KSL_PASS of a panic in f, which reads what C hands over.
func guardLayer(reply *C.ksl_reply, f func()) {
	defer func() {
		if recover() == nil {
			return
		}
		theLayer.Cache().Count(stats.Of(reason.PassedPanic), 1)
		if reply != nil {
			*reply = C.ksl_reply{reason: layerReason("internal error")}
		}
	}()
	f()
}

func layerBegin(arg unsafe.Pointer) {
	c := (*C.struct_ksl_ticket_call)(arg)
	c.pending = 0
	guardLayer(c.reply, func() {
		used()
		r, ok := readLayerRequest(c.request)
		if !ok {
			theLayer.Passed("a request that makes no sense")
			*c.reply = C.ksl_reply{reason: layerReason("a request that makes no sense")}
			return
		}
		r.Thread = int(c.thread)
		t, reply, ok := theLayer.Begin(r)
		if t != nil {
			c.ticket = C.uint64_t(t.ID())
		}
		replyTo(c, t, reply, ok)
	})
}

func layerNext(arg unsafe.Pointer) {
	c := (*C.struct_ksl_ticket_call)(arg)
	c.pending = 0
	guardLayer(c.reply, func() {
		t := theLayer.Ticket(uint64(c.ticket))
		if t == nil {
			*c.reply = C.ksl_reply{reason: layerReason("no such ticket")}
			return
		}
		outcomes, ok := readLayerOutcomes(c.noutcomes, c.outcomes)
		if !ok {
			outcomes = nil // which ends the ticket
		}
		layerHeld.letGo(t.ID())
		reply, ok := t.Next(outcomes)
		replyTo(c, t, reply, ok)
	})
}

func layerWait(arg unsafe.Pointer) {
	c := (*C.struct_ksl_ticket_call)(arg)
	c.pending = 0
	guardLayer(c.reply, func() {
		t := theLayer.Ticket(uint64(c.ticket))
		if t == nil {
			return // ended by another thread: the reply is KSL_PASS
		}
		reply, ok := t.Wait(0)
		replyTo(c, t, reply, ok)
	})
}

func layerEnd(arg unsafe.Pointer) {
	c := (*C.struct_ksl_number_call)(arg)
	guardLayer(nil, func() {
		if t := theLayer.Ticket(uint64(c.number)); t != nil {
			t.End()
			layerHeld.letGo(t.ID())
		}
	})
}

func layerLaunched(arg unsafe.Pointer) {
	c := (*C.struct_ksl_launch_call)(arg)
	guardLayer(nil, func() {
		theLayer.Launched(uint64(c.program), C.GoString(c.kernel),
			layerSizes(c.offset, c.dimensions), layerSizes(c.global, c.dimensions), layerSizes(c.local, c.dimensions))
	})
}

func layerAnswer(arg unsafe.Pointer) {
	c := (*C.struct_ksl_answer_call)(arg)
	c.written = 0
	guardLayer(nil, func() {
		used()
		code := theLayer.Answer(uint64(c.program), int(c.device))
		if len(code) > 0 && C.size_t(len(code)) == c.size {
			copy(unsafe.Slice((*byte)(c.to), len(code)), code)
			c.written = 1
		}
	})
}

func layerReleased(arg unsafe.Pointer) {
	c := (*C.struct_ksl_number_call)(arg)
	guardLayer(nil, func() { theLayer.Released(uint64(c.number)) })
}

func layerPassed(arg unsafe.Pointer) {
	c := (*C.struct_ksl_passed_call)(arg)
	guardLayer(nil, func() { theLayer.Passed(C.GoString(c.reason)) })
}

func layerCompiles(unsafe.Pointer) { guardLayer(nil, func() { theLayer.Compiles() }) }

func layerCompiledLate(arg unsafe.Pointer) {
	c := (*C.struct_ksl_late_call)(arg)
	guardLayer(nil, func() { theLayer.CompiledLate(time.Duration(c.nanoseconds), time.Duration(c.saved)) })
}

// replyTo writes a reply, or that there is none yet.
func replyTo(c *C.struct_ksl_ticket_call, t *layer.Ticket, r layer.Reply, ok bool) {
	if !ok {
		c.pending = 1
		return
	}
	*c.reply = C.ksl_reply{action: C.uint32_t(r.Action), program: C.uint64_t(r.Program), saved: C.uint64_t(max(r.Saved, 0))}
	switch {
	case r.Action == layer.Serve:
		c.reply.ticket = C.uint64_t(t.ID())
		c.reply.nartifacts = C.uint32_t(len(r.Artifacts))
		c.reply.artifacts = writeArtifacts(t.ID(), r.Artifacts)
	case r.Action == layer.Pass:
		c.reply.reason = layerReason(r.Reason)
		if t != nil && c.request != nil {
			t.End() // nobody else will: the host has no number of it
		}
	}
}
