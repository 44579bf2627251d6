//go:build linux

package main

// #include "start.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/front"
)

// fronts are the runtimes of the registry. A server is nil where nobody has asked for it, or
// the library stays out; it is written once, before anybody gets its number.
var fronts [len(registry)]struct {
	once   sync.Once
	server *front.Server
}

func frontOpen(arg unsafe.Pointer) {
	used()
	c := (*C.ksf_call)(arg)
	c.front = 0
	for i := range registry {
		if registry[i].runtime != C.GoString(c.runtime) {
			continue
		}
		f := &fronts[i]
		f.once.Do(func() { f.server = openFront(registry[i].open) })
		if f.server != nil {
			c.front = C.uint32_t(i + 1)
		}
	}
}

func openFront(open func() (front.Adapter, error)) (s *front.Server) {
	collectOften()
	_ = flight.Guard(func() error {
		a, err := open()
		if err == nil { // else it has told
			s = front.NewServer(a)
		}
		return err
	})
	return s
}

// called returns what is said in a call.
func called(arg unsafe.Pointer) (*C.ksf_call, *front.Server, front.Raw) {
	c := (*C.ksf_call)(arg)
	var m front.Raw
	if c.message != nil {
		m = front.Raw{First: unsafe.Pointer(c.message.fields), Count: uint64(c.message.count)}
	}
	return c, fronts[c.front-1].server, m
}

// waker returns what wakes the thread that called.
func waker(c *C.ksf_call) func() {
	event := c.event // c is gone by then
	return func() { C.ks_wake(event) }
}

// stepped writes what is to be done.
func stepped(c *C.ksf_call, r front.Reply) {
	c.pending, c.ticket = C.bool(r.Pending), C.uint64_t(r.Ticket)
	if r.Pending {
		return
	}
	*c.step = C.ksf_step{
		action: C.uint32_t(r.Action), ticket: c.ticket,
		message: C.ksf_message{fields: (*C.ksf_field)(r.Message.First), count: C.size_t(r.Message.Count)},
		program: C.uint64_t(r.Program), saved: C.uint64_t(r.Saved),
	}
}

func frontBegin(arg unsafe.Pointer) {
	used()
	c, s, m := called(arg)
	stepped(c, s.Begin(uint32(c.what), int(c.thread), m, waker(c)))
}

func frontNext(arg unsafe.Pointer) {
	c, s, m := called(arg)
	stepped(c, s.Next(uint64(c.ticket), m, waker(c)))
}

func frontWait(arg unsafe.Pointer) {
	c, s, _ := called(arg)
	stepped(c, s.Wait(uint64(c.ticket)))
}

func frontEnd(arg unsafe.Pointer) {
	c, s, _ := called(arg)
	s.End(uint64(c.ticket))
}

func frontTell(arg unsafe.Pointer) {
	c, s, m := called(arg)
	s.Tell(uint32(c.what), m)
}
