//go:build linux

package main

// #include "start.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/store"
)

// unit is how a binary in memory was made.
type unit struct {
	group  *engine.Group
	origin C.uint32_t
}

// binaries are the live objects of a device's memory tier, in C's memory.
type binaries struct{ device *device }

func (binaries) Kernel(*C.ks_blob, string) (struct{}, error)    { return struct{}{}, nil }
func (binaries) ReleaseProgram(b *C.ks_blob)                    { C.ks_blob_unuse(b) }
func (binaries) ReleaseKernel(struct{})                         {}
func (binaries) Unused(*live.Unit[*C.ks_blob, struct{}, *unit]) {}
func (binaries) Exhausted(error) bool                           { return false }

func (b binaries) Evicted(p *live.Program[*C.ks_blob, struct{}, *unit]) {
	l := b.device.cache.cache.Loggers().Memory
	if l == nil {
		return
	}
	label := p.ID().What.String()[:12]
	if units := p.Units(); len(units) > 0 {
		label = units[0].Info.group.Label()
	}
	l.Debug("evicted", "program", label)
}

// Final reports what the compiler says of a program: it will say it again.
func (binaries) Final(err error) bool {
	var diagnostic *kernstash.BuildError
	return errors.As(err, &diagnostic)
}

// Shut, Close, Flush and Hits make the device a tier of its cache. There is nothing to wait for.
func (d *device) Shut()                { d.tier.Shut() }
func (d *device) Flush(time.Time) bool { return true }
func (d *device) Hits() int64          { return d.tier.Hits() }

// Close releases all binaries.
func (d *device) Close(deadline time.Time) (dropped []string) {
	d.tier.Release(deadline)
	return nil
}

// source makes the binary of a request, on the thread of a ticket of C where it has to be
// built.
type source struct {
	q *request

	mu    sync.Mutex
	group *engine.Group
	err   error
}

// Parts returns one part: a device is one.
func (s *source) Parts(id live.ID) (_ []live.Part, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := []live.Part{{What: id.What, Devices: []int{0}}}
	t, err := s.q.device.session.BeginResolved(engine.ID(id), s.q.what, nil)
	if s.err = err; err != nil {
		return part, false
	}
	s.group = t.Group(0)
	return part, t.Exclusive()
}

// Own returns the id of the image's own program.
func (s *source) Own() live.ID { return live.ID(engine.ID(s.q.id).Exclusive(s.q.what.Image)) }

// next returns what to drive. It may be asked for again.
func (s *source) next() (*engine.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	g := s.group
	s.group = g.Renew()
	return g, nil
}

// Make drives the engine.
func (s *source) Make(ctx context.Context, u *live.Unit[*C.ks_blob, struct{}, *unit], _ int) error {
	g, err := s.next()
	if err != nil {
		return err
	}
	defer s.q.device.cache.cache.KeepStatsSometimes()
	defer g.Abandon()
	u.Info = &unit{group: g}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch step := g.Next(ctx); step.Kind {
		case engine.Wait:
			select {
			case <-step.Ready:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case engine.Hit:
			start := time.Now()
			b, err := newBlob(step.Artifact)
			if err != nil {
				g.Rejected(ctx, err)
				continue
			}
			u.Info.origin = C.KERNSTASH_FROM_DISK
			u.Publish(b, step.Artifact.Size())
			g.Loaded(time.Since(start))
			return nil
		default:
			return s.build(ctx, u)
		}
	}
}

// build has the thread of a ticket build.
func (s *source) build(ctx context.Context, u *live.Unit[*C.ks_blob, struct{}, *unit]) error {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok {
		return fmt.Errorf("build: no thread to build on: %w", dl.ErrUnsupported)
	}
	start := time.Now()
	b, a, err := t.build(ctx)
	took := time.Since(start)
	if err != nil {
		why := err
		if (binaries{}).Final(err) {
			why = inprocess.ErrRefused
		}
		u.Info.group.Failed(why, took)
		return err
	}
	u.Info.origin = C.KERNSTASH_FROM_MEMORY
	u.Publish(b, a.Size())
	u.Info.group.Built(engine.Outcome{Artifact: a, Took: took})
	return nil
}

// newBlob copies an artifact into C's memory; its first binary is the best.
func newBlob(a *store.Artifact) (*C.ks_blob, error) {
	best := a.Binaries[0]
	if len(best.Data) == 0 {
		return nil, errors.New("an artifact without code")
	}
	var pins runtime.Pinner // of what c points to
	defer pins.Unpin()
	text := func(s string) *C.char {
		b := append([]byte(s), 0)
		pins.Pin(&b[0])
		return (*C.char)(unsafe.Pointer(&b[0]))
	}
	c := C.kernstash_artifact{
		data: unsafe.Pointer(&best.Data[0]), data_size: C.size_t(len(best.Data)),
		cost: C.int64_t(a.Cost), form: C.uint32_t(best.Form),
	}
	c.size = C.size_t(unsafe.Sizeof(c))
	pins.Pin(&best.Data[0])
	if a.Log != "" {
		c.log = text(a.Log)
	}
	if n := len(a.Variants); n > 0 {
		names := make([]*C.char, n)
		for i, v := range a.Variants {
			names[i] = text(v)
		}
		pins.Pin(&names[0])
		c.launches, c.launch_count = &names[0], C.size_t(n)
	}
	b := C.ks_blob_new(&c)
	if b == nil {
		return nil, fmt.Errorf("%d bytes: out of memory", len(best.Data))
	}
	return b, nil
}

// artifact returns what a blob holds. own says whether the code is copied; else it
// is good for as long as the blob is.
func artifact(b *C.ks_blob, own bool) *store.Artifact {
	c := &b.artifact
	data := unsafe.Slice((*byte)(c.data), int(c.data_size))
	if own {
		data = slices.Clone(data)
	}
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.Form(c.form), Data: data}},
		Log:      C.GoString(c.log), Cost: time.Duration(c.cost), Created: time.Now(),
	}
	for _, name := range unsafe.Slice(c.launches, int(c.launch_count)) {
		a.Variants = append(a.Variants, C.GoString(name))
	}
	slices.Sort(a.Variants)
	a.Variants = slices.Compact(a.Variants)
	return a
}
