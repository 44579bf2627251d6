//go:build linux

package main

// #include "levelzero_calls.h"
import "C"

import (
	goruntime "runtime"
	"time"
	"unsafe"

	gpu "github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/levelzero/layer"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// levelzero serves the process; nil: it stays out. It is written once, before anybody
// gets the functions.
var levelzero *layer.Layer

func levelZeroOpen(arg unsafe.Pointer) {
	used()
	c := (*C.struct_ksz_open_call)(arg)
	defer func() {
		if recover() != nil {
			levelzero, c.open = nil, 0
		}
	}()
	collectOften()
	if l, err := layer.Open(layer.Options{}); err == nil {
		levelzero, c.open = l, 1
	}
}

// guardLevelZero makes KSZ_PASS of a panic in f, which reads what C hands over.
func guardLevelZero(reply *C.ksz_reply, f func()) {
	defer func() {
		if recover() == nil {
			return
		}
		levelzero.Cache().Count(stats.Of(reason.PassedPanic), 1)
		if reply != nil {
			*reply = C.ksz_reply{reason: layerReason("internal error")}
		}
	}()
	f()
}

func levelZeroBegin(arg unsafe.Pointer) {
	c := (*C.struct_ksz_ticket_call)(arg)
	c.pending = 0
	guardLevelZero(c.reply, func() {
		used()
		r, ok := readModule(c.request)
		if !ok {
			levelzero.Passed("a request that makes no sense")
			*c.reply = C.ksz_reply{reason: layerReason("a request that makes no sense")}
			return
		}
		t, reply, ok := levelzero.Begin(r)
		if t != nil {
			c.ticket = C.uint64_t(t.ID())
		}
		replyModule(c, t, reply, ok)
		if t != nil && ok && reply.Action == layer.Pass {
			t.End() // nobody else will: the host has no number of it
		}
	})
}

func levelZeroNext(arg unsafe.Pointer) {
	c := (*C.struct_ksz_ticket_call)(arg)
	c.pending = 0
	guardLevelZero(c.reply, func() {
		t := levelzero.Ticket(uint64(c.ticket))
		if t == nil {
			*c.reply = C.ksz_reply{reason: layerReason("no such ticket")}
			return
		}
		o, ok := readOutcome(c.outcome)
		if !ok {
			o = &layer.Outcome{} // which ends the ticket
		}
		levelzeroHeld.letGo(t.ID())
		reply, ok := t.Next(o)
		replyModule(c, t, reply, ok)
	})
}

func levelZeroWait(arg unsafe.Pointer) {
	c := (*C.struct_ksz_ticket_call)(arg)
	c.pending = 0
	guardLevelZero(c.reply, func() {
		t := levelzero.Ticket(uint64(c.ticket))
		if t == nil {
			return // ended by another thread: the reply is KSZ_PASS
		}
		reply, ok := t.Wait(0)
		replyModule(c, t, reply, ok)
		if ok && reply.Action == layer.Pass && c.request != nil {
			t.End()
		}
	})
}

func levelZeroEnd(arg unsafe.Pointer) {
	c := (*C.struct_ksz_number_call)(arg)
	guardLevelZero(nil, func() {
		if t := levelzero.Ticket(uint64(c.number)); t != nil {
			t.End()
			levelzeroHeld.letGo(t.ID())
		}
	})
}

func levelZeroPassed(arg unsafe.Pointer) {
	c := (*C.struct_ksz_passed_call)(arg)
	guardLevelZero(nil, func() { levelzero.Passed(C.GoString(c.reason)) })
}

// moduleView returns C's memory as a slice that shares it; nil where there is none.
func moduleView(b C.ksz_bytes) []byte {
	if b.data == nil {
		return nil
	}
	if b.size > maxLayerBytes {
		panic("too many bytes")
	}
	return unsafe.Slice((*byte)(b.data), int(b.size))
}

// readModule returns a request whose bytes are C's; false for one that makes no sense.
func readModule(c *C.ksz_request) (r *layer.Request, ok bool) {
	defer func() {
		if recover() != nil {
			r, ok = nil, false
		}
	}()
	if c.size < C.uint32_t(unsafe.Sizeof(*c)) || c.queries == nil || c.device == nil {
		return nil, false
	}
	q := c.queries
	r = &layer.Request{Device: uintptr(c.device), Flags: text(c.flags)}
	for i, at := range []unsafe.Pointer{
		q.driver_get, q.device_get, q.device_get_sub_devices,
		q.driver_get_properties, q.driver_get_api_version, q.driver_get_extension_properties,
		q.device_get_properties, q.device_get_module_properties, q.device_get_compute_properties,
		q.device_pci_get_properties,
	} {
		r.Queries[i] = uintptr(at)
	}
	for _, m := range layerList(c.modules, c.nmodules) {
		r.Modules = append(r.Modules, moduleView(m))
	}
	ids, values := layerList(c.ids, c.nconstants), layerList(c.values, c.nconstants)
	for i := range ids {
		r.Constants = append(r.Constants, layer.Constant{ID: uint32(ids[i]), At: uintptr(values[i])})
	}
	drivers.IntelSettings.Saw(c.directories&C.KSZ_SETTINGS != 0, c.directories&C.KSZ_MOVED != 0)
	if c.environment != nil {
		r.Environ = func() []string { return layerEnvironment(c.environment) }
	}
	return r, true
}

// readOutcome returns an outcome whose binary is C's.
func readOutcome(c *C.ksz_outcome) (o *layer.Outcome, ok bool) {
	defer func() {
		if recover() != nil {
			o, ok = nil, false
		}
	}()
	o = &layer.Outcome{
		Result: layer.Result(c.result), Code: int(c.code), Took: time.Duration(min(uint64(c.nanoseconds), 1<<62)),
		Native: moduleView(c.native), Log: string(moduleView(c.log)),
	}
	o.Unknown.Global, o.Unknown.Function = gpu.Result(c.unknown_global), gpu.Result(c.unknown_function)
	for _, name := range layerList(c.kernels, c.nkernels) {
		o.Kernels = append(o.Kernels, C.GoString(name))
	}
	return o, true
}

// replyModule writes a reply, or that there is none yet.
func replyModule(c *C.struct_ksz_ticket_call, t *layer.Ticket, r layer.Reply, ok bool) {
	if !ok {
		c.pending = 1
		return
	}
	*c.reply = C.ksz_reply{action: C.uint32_t(r.Action)}
	switch r.Action {
	case layer.Serve:
		c.reply.ticket = C.uint64_t(t.ID())
		c.reply.unknown_global, c.reply.unknown_function = C.uint32_t(r.Unknown.Global), C.uint32_t(r.Unknown.Function)
		writeModule(t.ID(), c.reply, r)
	case layer.Build:
		c.reply.ticket = C.uint64_t(t.ID())
	case layer.Pass:
		c.reply.reason = layerReason(r.Reason)
	}
}

// levelzeroHeld keeps what replies point to.
var levelzeroHeld heldReplies

// writeModule makes C's structures of a reply's memory, which it pins.
func writeModule(ticket uint64, to *C.ksz_reply, r layer.Reply) {
	pin := new(goruntime.Pinner)
	bytes := func(b []byte) C.ksz_bytes {
		if len(b) == 0 {
			return C.ksz_bytes{}
		}
		pin.Pin(&b[0])
		return C.ksz_bytes{data: unsafe.Pointer(&b[0]), size: C.size_t(len(b))}
	}
	texts := append(make([]byte, 0, len(r.Log)+1), r.Log...)
	to.native, to.log = bytes(r.Native), bytes(texts)
	if n := len(r.Kernels); n > 0 {
		all := make([]C.ksz_bytes, n)
		pin.Pin(&all[0])
		for i, name := range r.Kernels {
			all[i] = bytes([]byte(name))
		}
		to.nkernels, to.kernels = C.uint32_t(n), &all[0]
	}
	levelzeroHeld.keep(ticket, pin)
}
