//go:build linux

package main

// #include <stdlib.h>
// #include <string.h>
// #include "rtc_calls.h"
import "C"

import (
	"bytes"
	"sync/atomic"
	"time"
	"unsafe"

	goruntime "runtime"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// compilers serves the process; nil: it stays out. It is written once, before anybody
// gets the functions.
var compilers *layer.Layer

func rtcOpen(arg unsafe.Pointer) {
	used()
	c := (*C.struct_ksr_open_call)(arg)
	defer func() {
		if recover() != nil {
			compilers, c.open = nil, 0
		}
	}()
	collectOften()
	if l, err := layer.Open(layer.Options{Missed: collectRarely}); err == nil {
		compilers, c.open = l, 1
	}
}

// guardRTC makes KSR_PASS of a panic in f, which reads what C hands over.
func guardRTC(reply *C.ksr_reply, f func()) {
	defer func() {
		if recover() == nil {
			return
		}
		compilers.Cache().Count(stats.Of(reason.PassedPanic), 1)
		if reply != nil {
			*reply = C.ksr_reply{reason: layerReason("internal error")}
		}
	}()
	f()
}

func rtcBegin(arg unsafe.Pointer) {
	c := (*C.struct_ksr_begin_call)(arg)
	c.pending = 0
	guardRTC(c.reply, func() {
		used()
		r, ok := readProgram(c.request)
		if !ok {
			compilers.Passed("a request that makes no sense", "rtc")
			*c.reply = C.ksr_reply{reason: layerReason("a request that makes no sense")}
			return
		}
		t, reply, ok := compilers.Begin(r)
		if t != nil {
			c.ticket = C.uint64_t(t.ID())
		}
		replyProgram(c, reply, ok)
	})
}

func rtcWait(arg unsafe.Pointer) {
	c := (*C.struct_ksr_begin_call)(arg)
	c.pending = 0
	guardRTC(c.reply, func() {
		t := compilers.Ticket(uint64(c.ticket))
		if t == nil {
			return // the reply is KSR_PASS
		}
		reply, ok := t.Wait(0)
		replyProgram(c, reply, ok)
	})
}

func rtcDone(arg unsafe.Pointer) {
	c := (*C.struct_ksr_done_call)(arg)
	guardRTC(nil, func() {
		if uint64(c.ticket)&servedTicket != 0 {
			heldOutputs.letGo(uint64(c.ticket))
			return
		}
		t := compilers.Ticket(uint64(c.ticket))
		if t == nil {
			return
		}
		if c.outcome == nil {
			t.End()
			return
		}
		o, ok := readOutput(c.outcome)
		if !ok {
			t.End()
			return
		}
		t.Done(o)
	})
}

func rtcPassed(arg unsafe.Pointer) {
	c := (*C.struct_ksr_passed_call)(arg)
	guardRTC(nil, func() { compilers.Passed(C.GoString(c.reason), rtc.API(c.api).String()) })
}

// maxListed bounds headers, options and name expressions of a program.
const maxListed = 1 << 20

// cText returns a string of C's as a slice that shares it.
func cText(s *C.char) []byte {
	if s == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), int(C.strlen(s)))
}

func cTexts(first **C.char, n C.uint32_t) []*C.char {
	if n > maxListed || n > 0 && first == nil {
		panic("a list that makes no sense")
	}
	return unsafe.Slice(first, int(n))
}

// readProgram returns a request whose source and headers are C's; false for one that
// makes no sense.
func readProgram(c *C.ksr_request) (r *layer.Request, ok bool) {
	defer func() {
		if recover() != nil {
			r, ok = nil, false
		}
	}()
	if c.size < C.uint32_t(unsafe.Sizeof(*c)) || c.compile == nil || c.source == nil || c.name != nil && *c.name == 0 {
		return nil, false
	}
	r = &layer.Request{
		API: rtc.API(c.api), Compile: uintptr(c.compile), Major: int(c.major), Minor: int(c.minor),
		Program: rtc.Request{Source: cText(c.source), Name: text(c.name)},
	}
	headers, includes := cTexts(c.headers, c.nheaders), cTexts(c.includes, c.nheaders)
	for i := range headers {
		r.Program.Headers = append(r.Program.Headers, key.Header{Name: text(includes[i]), Content: cText(headers[i])})
	}
	for _, o := range cTexts(c.options, c.noptions) {
		r.Program.Options = append(r.Program.Options, text(o))
	}
	for _, e := range cTexts(c.expressions, c.nexpressions) {
		r.Program.Expressions = append(r.Program.Expressions, text(e))
	}
	return r, true
}

// readOutput returns an outcome in memory of its own.
func readOutput(c *C.ksr_outcome) (o *layer.Outcome, ok bool) {
	defer func() {
		if recover() != nil {
			o, ok = nil, false
		}
	}()
	answer := func(a *C.ksr_answer) rtc.Answer {
		own := rtc.Answer{Asked: a.asked != 0, Code: int(a.code)}
		if a.data.data != nil {
			if a.data.size > maxLayerBytes {
				panic("too many bytes")
			}
			own.Data = bytes.Clone(unsafe.Slice((*byte)(a.data.data), int(a.data.size)))
		}
		return own
	}
	log := answer(&c.output.log)
	o = &layer.Outcome{
		Result: layer.Result(c.result), Code: int(c.code), Took: time.Duration(min(uint64(c.nanoseconds), 1<<62)),
	}
	if o.Result != layer.Built {
		o.Log = string(bytes.TrimRight(log.Data, "\x00"))
		return o, true
	}
	forms := make(map[rtc.Form]rtc.Answer)
	for f := range c.output.forms {
		forms[rtc.Form(f)] = answer(&c.output.forms[f])
	}
	var lowered []rtc.Lowered
	if n := c.output.nlowered; n > 0 && n <= maxListed {
		for _, l := range unsafe.Slice(c.output.lowered, int(n)) {
			lowered = append(lowered, rtc.Lowered{Expression: text(l.expression), Name: text(l.name), Code: int(l.code)})
		}
	}
	o.Output = rtc.NewOutput(log, forms, lowered)
	return o, true
}

// replyProgram writes a reply, or that there is none yet.
func replyProgram(c *C.struct_ksr_begin_call, r layer.Reply, ok bool) {
	if !ok {
		c.pending = 1
		return
	}
	*c.reply = C.ksr_reply{action: C.uint32_t(r.Action)}
	switch r.Action {
	case layer.Serve:
		c.reply.ticket = C.uint64_t(heldOutputs.write(&c.reply.output, r.Output))
	case layer.Build:
		c.reply.ticket = c.ticket
	case layer.Pass:
		c.reply.reason = layerReason(r.Reason)
	}
}

// servedTicket is set in the numbers of tickets that stand for what a reply points to.
const servedTicket = 1 << 63

// heldOutputs keeps that until the ticket ends.
var heldOutputs outputs

type outputs struct {
	heldReplies
	last atomic.Uint64
}

// write makes C's structures of an output's memory, which it pins.
func (h *outputs) write(to *C.ksr_output, o *rtc.Output) uint64 {
	pin := new(goruntime.Pinner)
	answer := func(a rtc.Answer) C.ksr_answer {
		c := C.ksr_answer{code: C.int32_t(a.Code)}
		if a.Asked {
			c.asked = 1
		}
		if len(a.Data) > 0 {
			pin.Pin(&a.Data[0])
			c.data = C.ksr_bytes{data: unsafe.Pointer(&a.Data[0]), size: C.size_t(len(a.Data))}
		}
		return c
	}
	str := func(s string) *C.char {
		b := append([]byte(s), 0)
		pin.Pin(&b[0])
		return (*C.char)(unsafe.Pointer(&b[0]))
	}
	to.log = answer(o.LogAnswer())
	for f := range to.forms {
		to.forms[f] = answer(o.Answer(rtc.Form(f)))
	}
	if names := o.LoweredNames(); len(names) > 0 {
		all := make([]C.ksr_lowered, len(names))
		pin.Pin(&all[0])
		for i, n := range names {
			all[i] = C.ksr_lowered{expression: str(n.Expression), code: C.int32_t(n.Code)}
			if n.Code == 0 {
				all[i].name = str(n.Name)
			}
		}
		to.lowered, to.nlowered = &all[0], C.uint32_t(len(all))
	}
	ticket := h.last.Add(1) | servedTicket
	h.keep(ticket, pin)
	return ticket
}
