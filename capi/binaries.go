//go:build linux

package main

// #include "start.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/engine"
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
