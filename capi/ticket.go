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
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/store"
)

// ticket is one get-or-build of a thread of C, which waits in C until it is told
// what to do. It is the source of the program, which the thread builds where it has to be built.
type ticket struct {
	*request
	c      *C.ks_ticket
	handle cgo.Handle
	inside context.Context // of the build; what the thread asks for meanwhile is nested in it
	ended  chan error      // how the thread's build ended
	built  *C.ks_blob      // what it made, with a use of its own; nil: nothing

	mu    sync.Mutex
	group *engine.Group
	err   error
}

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
	t := &ticket{request: q, c: &c.lookup.ticket, ended: make(chan error, 1)}
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
	go t.run(outer)
	return nil
}

// run asks for the program, and tells the thread. After the last post the ticket
// of C may be gone.
func (t *ticket) run(ctx context.Context) {
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
	p := t.hit() // made since the thread looked
	if p == nil {
		p, err = t.device.tier.Get(ctx, t.id, t.what.Image.Serial(), t)
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

// Parts returns one part: a device is one.
func (t *ticket) Parts(id live.ID) (_ []live.Part, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	part := []live.Part{{What: id.What, Devices: []int{0}}}
	means, err := t.device.session.BeginResolved(engine.ID(id), t.what, nil)
	if t.err = err; err != nil {
		return part, false
	}
	t.group = means.Group(0)
	return part, means.Exclusive()
}

// Own returns the id of the image's own program.
func (t *ticket) Own() live.ID { return live.ID(engine.ID(t.id).Exclusive(t.what.Image)) }

// next returns what to drive. It may be asked for again.
func (t *ticket) next() (*engine.Group, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	g := t.group
	t.group = g.Renew()
	return g, nil
}

// Make loads the program, or has it built.
func (t *ticket) Make(ctx context.Context, u *live.Unit[*C.ks_blob, struct{}, *unit], _ int) error {
	g, err := t.next()
	if err != nil {
		return err
	}
	defer t.device.cache.cache.KeepStatsSometimes()
	u.Info = &unit{group: g}
	load := func(a *store.Artifact) (bool, error) {
		start := time.Now()
		b, err := newBlob(a)
		if err != nil {
			g.Rejected(ctx, err)
			return false, nil
		}
		u.Info.origin = C.KERNSTASH_FROM_DISK
		u.Publish(b, a.Size())
		g.Loaded(time.Since(start))
		return true, nil
	}
	return g.Drive(ctx, load, func() error { return t.build(ctx, u) })
}

// build has the ticket's thread build, and waits for it.
func (t *ticket) build(ctx context.Context, u *live.Unit[*C.ks_blob, struct{}, *unit]) error {
	start := time.Now()
	t.inside = ctx
	C.ks_post(t.c, C.ks_act_build)
	err := <-t.ended
	took := time.Since(start)
	if err != nil {
		why := err
		if t.device.Final(err) {
			why = inprocess.ErrRefused
		}
		u.Info.group.Failed(why, took)
		return err
	}
	a := artifact(t.built, t.program, true)
	u.Info.origin = C.KERNSTASH_FROM_MEMORY
	u.Publish(t.built, a.Size())
	u.Info.group.Built(engine.Outcome{Artifact: a, Took: took})
	return nil
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
