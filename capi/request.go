//go:build linux

package main

// #include "internal.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/cgo"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// request is what a lookup asks for.
type request struct {
	device  *device
	what    engine.Request
	id      live.ID
	against string // why it is not cached; "": nothing
}

// magic begins the image of every lookup, and numbers the encoding that follows
// (docs/C.md, "What the key is made of").
const magic = "kernstash lookup 1\x00"

// newRequest puts a lookup's pieces together. Each is a sequence of items that
// tell their own lengths, and the lengths of the pieces stand before them: no two
// lookups make the same image.
func newRequest(r *C.ks_request) (*request, error) {
	pieces := [...][]byte{view(r.program), view(r.context), view(r.material), view(r.variants)}
	size := len(magic)
	for _, p := range pieces {
		size += 8 + len(p)
	}
	code := append(make([]byte, 0, size), magic...)
	for _, p := range pieces {
		code = append(binary.LittleEndian.AppendUint64(code, uint64(len(p))), p...)
	}
	image, err := key.NewImage(key.Opaque, code)
	if err != nil {
		return nil, err
	}
	q := &request{
		device: object[*device](r.device),
		what:   engine.Request{Image: engine.NewImage(image), CompileOptions: string(view(r.options))},
	}
	id, err := q.device.session.ID(&q.what)
	if err != nil {
		return nil, err
	}
	q.id = live.ID(id)
	if bool(r.sourced) {
		q.against = q.device.door.againstSources(image.Digest(), pieces[2], bool(r.versioned))
	}
	return q, nil
}

// againstSources says what in a lookup's sources speaks against caching it: what
// they read besides themselves is not in the key. It is worked out once for each
// image.
func (d *door) againstSources(image key.Digest, material []byte, versioned bool) string {
	d.mu.Lock()
	known, ok := d.sources[image]
	d.mu.Unlock()
	if ok {
		return known
	}
	against := ""
	for rest := material; len(rest) >= 9 && against == ""; {
		kind, n := rest[0], binary.LittleEndian.Uint64(rest[1:9])
		item := rest[9:][:n]
		rest = rest[9+n:]
		if kind != 's' {
			continue
		}
		found := deps.ScanUnit(key.Unit{Kind: key.OpenCLC, Code: item})
		switch why := found.Reason; {
		case !why.None() && (why.Code != reason.NotCacheableHeaders || !versioned):
			against = why.String()
		case found.Reads != "" && !versioned:
			against = "a source reads other files (" + found.Reads + "), and no library version is given"
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sources == nil || len(d.sources) >= maxSources {
		d.sources = make(map[key.Digest]string)
	}
	d.sources[image] = against
	return against
}

// requested returns the request of a call: what an earlier call of the lookup made,
// else a new one, which is remembered if keep says so.
func requested(r *C.ks_request, handle *C.uintptr_t) (*request, error) {
	if *handle != 0 {
		return object[*request](*handle), nil
	}
	q, err := newRequest(r)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (q *request) keep(handle *C.uintptr_t) {
	if *handle == 0 {
		*handle = C.uintptr_t(cgo.NewHandle(q))
	}
}

var errAgainst = errors.New("not cached")

// cacheable says that a request may be cached, or counts that it may not.
func (q *request) cacheable() error {
	if q.against == "" {
		return nil
	}
	q.device.door.cache.Count(stats.Of(reason.NotCacheableHeaders), 1)
	q.device.door.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: q.against})
	return fmt.Errorf("%w: %s", errAgainst, q.against)
}

func lookupFind(arg unsafe.Pointer) {
	c := (*C.ks_lookup_call)(arg)
	answer(&c.call, func() error {
		q, err := requested(c.request, &c.key)
		if err != nil {
			return err
		}
		if err := q.cacheable(); err != nil {
			return withStatus(C.KERNSTASH_NOT_FOUND, err)
		}
		if c.blob, err = q.live(); err != nil || c.blob != nil {
			c.memory = c.blob != nil
			return err
		}
		q.keep(&c.key) // a populate will follow
		used()
		start := time.Now()
		var a *store.Artifact
		err = q.on(func(g *engine.Group) (err error) {
			a, err = g.Stored(context.Background())
			return err
		})
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("stored artifact: %w", err)
		}
		q.device.door.Report(runlog.Event{
			Kind: runlog.Asked, Outcome: runlog.Disk, Spent: took, Saved: max(a.Cost-took, 0), Bytes: a.Size(),
		})
		c.blob, err = newBlob(a)
		return err
	})
}

// on calls f with what a request means.
func (q *request) on(f func(*engine.Group) error) error {
	tier := q.device.tier
	if !tier.Enter() {
		return live.ErrClosed
	}
	defer tier.Leave()
	defer q.device.door.cache.KeepStatsSometimes()
	g, err := q.device.session.BeginOn(q.what, 0)
	if err != nil {
		return err
	}
	return f(g)
}

// hit returns the request's program in memory, with a use added; nil: there is none.
func (q *request) hit() *program { return q.device.tier.Hit(&q.id, q.what.Image.Serial()) }

// live returns the binary of a request if it is in memory, with a use for the
// caller.
func (q *request) live() (*C.ks_blob, error) {
	if q.device.tier.Closed() {
		return nil, fmt.Errorf("live program: %w", live.ErrClosed)
	}
	p := q.hit()
	if p == nil {
		return nil, nil
	}
	if d := q.device.door; d.Log != nil {
		u, err := p.Unit(0)
		if err == nil {
			d.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Memory, Key: u.Info.group.Job().Key.Short()})
		}
	}
	return take(p)
}

// program is a binary in memory.
type program = live.Program[*C.ks_blob, struct{}, *unit]

// take gives the caller a use of a program's binary for one of the program.
func take(p *program) (*C.ks_blob, error) {
	defer p.Release()
	b, err := p.Native(0)
	if err != nil {
		return nil, err
	}
	use(b)
	return b, nil
}

// use is ks_blob_use, without the way to C.
func use(b *C.ks_blob) { atomic.AddInt64((*int64)(unsafe.Pointer(&b.uses)), 1) }

var _ [8]byte = [unsafe.Sizeof(C.ks_blob{}.uses)]byte{}

func lookupPopulate(arg unsafe.Pointer) {
	c := (*C.ks_lookup_call)(arg)
	answer(&c.call, func() error {
		q, err := requested(c.request, &c.key)
		if err != nil {
			return err
		}
		q.keep(&c.key)
		used()
		if err := q.cacheable(); err != nil {
			return withStatus(C.KERNSTASH_NOT_STORED, err)
		}
		a := artifact(c.blob, false)
		var result store.PutResult
		err = q.on(func(g *engine.Group) (err error) {
			result, err = g.Store(context.Background(), a)
			return err
		})
		if result == store.Stored {
			q.device.door.Report(runlog.Event{
				Kind: runlog.Asked, Outcome: runlog.Compiled, Reason: reason.MissAbsent.String(), Spent: a.Cost,
			})
		}
		if err != nil {
			err = fmt.Errorf("store artifact: %w", err)
		}
		if errors.Is(err, live.ErrClosed) {
			return err
		}
		return withStatus(C.KERNSTASH_NOT_STORED, err)
	})
}

func lookupRefuse(arg unsafe.Pointer) {
	c := (*C.ks_lookup_call)(arg)
	answer(&c.call, func() error {
		q, err := requested(c.request, &c.key)
		if err != nil {
			return err
		}
		q.keep(&c.key)
		if q.against != "" {
			return nil // nothing is there
		}
		err = q.on(func(g *engine.Group) error {
			if p := q.hit(); p != nil {
				q.device.tier.Drop(p)
				p.Release()
			}
			g.Refuse(context.Background())
			return nil
		})
		if err != nil {
			return fmt.Errorf("refuse artifact: %w", err)
		}
		return nil
	})
}

func lookupForget(arg unsafe.Pointer) {
	c := (*C.ks_lookup_call)(arg)
	answer(&c.call, func() error {
		cgo.Handle(c.key).Delete()
		return nil
	})
}
