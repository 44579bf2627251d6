//go:build linux

package main

// #include <stdlib.h>
// #include "start.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/store"
)

// ticket is one get-or-build of a thread of C, which waits in C until it is told
// what to do.
type ticket struct {
	c      *C.ks_ticket
	handle cgo.Handle
	inside context.Context // of the build; what the thread asks for meanwhile is nested in it
	ended  chan error      // how the thread's build ended
	built  *C.ks_blob      // what it made, with a use of its own; nil: nothing
}

type ticketKey struct{}

// brokenError is a build that made nothing, and said nothing of the program.
type brokenError struct{ code int }

func (e *brokenError) Error() string {
	if e.code == 0 {
		return "the build made no binary"
	}
	return fmt.Sprintf("the build returned %d", e.code)
}

func buildBegin(c *C.ks_lookup_call) error {
	q, err := requested(c.lookup)
	if err != nil {
		return err
	}
	t := &ticket{c: &c.lookup.ticket, ended: make(chan error, 1)}
	blob, err := q.live()
	if err != nil {
		return err
	}
	if blob != nil {
		t.c.blob, t.c.origin, t.c.action = blob, C.KERNSTASH_FROM_MEMORY, C.ks_act_done
		return nil
	}
	q.keep(c.lookup)
	if q.cacheable(c.lookup) != nil {
		t.c.action = C.ks_act_alone
		return nil
	}
	used()
	outer := context.Background()
	if c.parent != 0 {
		outer = object[*ticket](c.parent).inside
	}
	t.handle = cgo.NewHandle(t)
	t.c._go = C.uintptr_t(t.handle)
	go t.run(context.WithValue(outer, ticketKey{}, t), q)
	return nil
}

// run asks for the program, and tells the thread. After the last post the ticket
// of C may be gone.
func (t *ticket) run(ctx context.Context, q *request) {
	action := C.uint32_t(C.ks_act_alone)
	defer func() {
		used()
		if recover() != nil {
			action = C.ks_act_alone
		}
		t.handle.Delete()
		C.ks_post(t.c, action)
	}()
	var err error
	p := q.hit() // made since the thread looked
	if p == nil {
		p, err = q.device.tier.Get(ctx, q.id, q.what.Image.Serial(), &source{q: q})
	}
	if err == nil {
		u := p.Units()[0].Info
		if t.c.blob, err = take(p); err == nil {
			action, t.c.origin = C.ks_act_done, u.origin
			if t.built != nil {
				t.c.origin = C.KERNSTASH_FROM_CALLER
			}
			return
		}
	}
	action = t.fail(fmt.Errorf("program: %w", err))
}

// fail writes why there is no program. What is no failure of the build leaves the
// thread to itself.
func (t *ticket) fail(err error) C.uint32_t {
	var diagnostic *kernstash.BuildError
	var broken *brokenError
	switch {
	case errors.As(err, &diagnostic):
		t.c.status, t.c.code = C.KERNSTASH_BUILD_FAILED, C.int(diagnostic.Code)
		t.c.log = C.CString(diagnostic.Log)
	case errors.As(err, &broken):
		t.c.status, t.c.code = C.KERNSTASH_BUILD_FAILED, C.int(broken.code)
	case errors.Is(err, flight.ErrCycle):
		t.c.status = C.KERNSTASH_CYCLE
	default:
		return C.ks_act_alone
	}
	writeText(t.c.detail[:], err.Error())
	return C.ks_act_failed
}

// build has the ticket's thread build, and waits for it.
func (t *ticket) build(ctx context.Context) (*C.ks_blob, *store.Artifact, error) {
	t.inside = ctx
	C.ks_post(t.c, C.ks_act_build)
	if err := <-t.ended; err != nil {
		return nil, nil, err
	}
	return t.built, artifact(t.built, true), nil
}

func buildFinish(c *C.ks_lookup_call) error {
	t := object[*ticket](c.lookup.ticket._go)
	var err error
	switch c.result {
	case C.ks_built:
		t.built = c.lookup.blob
		use(t.built)
	case C.ks_refused:
		err = &kernstash.BuildError{Code: int(c.lookup.fail_code), Log: C.GoString(c.lookup.fail_log)}
	default:
		err = &brokenError{int(c.lookup.fail_code)}
	}
	t.ended <- err
	return nil
}
