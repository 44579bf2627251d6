//go:build linux

package main

// #include "internal.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime/cgo"
	"slices"
	"strings"
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
	program string // its name
	scanned bool   // its sources were
	against string // why it is not cached; "": nothing
}

// magic begins the image of every lookup, and numbers the encoding that follows
// (docs/C.md, "What the key is made of").
const magic = "kernstash lookup 1\x00"

// newRequest puts a lookup's parts together. Each is a sequence of items that
// tell their own lengths, and the lengths of the parts stand before them: no two
// lookups make the same image.
func newRequest(l *C.kernstash_lookup) (*request, error) {
	pieces := [][]byte{[]byte(magic)}
	for _, b := range l.parts {
		part := view(b)
		pieces = append(pieces, binary.LittleEndian.AppendUint64(nil, uint64(len(part))), part)
	}
	image, err := key.NewImage(key.Opaque, slices.Concat(pieces...))
	if err != nil {
		return nil, err
	}
	var options []string // once more, for people who look at the entry
	for kind, item := range items(view(l.parts[C.ks_variants])) {
		if kind == 'o' && len(item) > 0 {
			options = append(options, string(item))
		}
	}
	q := &request{
		device: object[*device](l.device._go), program: string(view(l.parts[C.ks_program])[9:]),
		what: engine.Request{Image: engine.NewImage(image), CompileOptions: strings.Join(options, " ")},
	}
	id, err := q.device.session.ID(&q.what)
	if err != nil {
		return nil, err
	}
	q.id = live.ID(id)
	return q, nil
}

// items yields the items of a part: what kind each is of, and its bytes.
func items(part []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for len(part) > 0 {
			end := 9 + binary.LittleEndian.Uint64(part[1:9])
			if !yield(part[0], part[9:end]) {
				return
			}
			part = part[end:]
		}
	}
}

// against says what in a lookup's sources speaks against caching it: what
// they read besides themselves is not in the key.
func against(material []byte) string {
	versioned := false
	for kind := range items(material) {
		versioned = versioned || kind == 'v'
	}
	for kind, source := range items(material) {
		if kind != 's' {
			continue
		}
		found := deps.ScanUnit(key.Unit{Kind: key.OpenCLC, Code: source})
		switch why := found.Reason; {
		case !why.None() && (why.Code != reason.NotCacheableHeaders || !versioned):
			return why.String()
		case found.Reads != "" && !versioned:
			return "a source reads other files (" + found.Reads + "), and no library version is given"
		}
	}
	return ""
}

// requested returns the request of a lookup: what an earlier call of it kept, else a new one.
func requested(l *C.kernstash_lookup) (*request, error) {
	if l.key != 0 {
		return object[*request](l.key), nil
	}
	return newRequest(l)
}

func (q *request) keep(l *C.kernstash_lookup) {
	if l.key == 0 {
		l.key = C.uintptr_t(cgo.NewHandle(q))
	}
}

// uncacheable returns why a lookup is not cached, worked out when first asked for; "": it is.
func (q *request) uncacheable(l *C.kernstash_lookup) string {
	if !q.scanned {
		q.against, q.scanned = against(view(l.parts[C.ks_material])), true
	}
	return q.against
}

// cacheable says that a lookup may be cached, or counts that it may not.
func (q *request) cacheable(l *C.kernstash_lookup) error {
	why := q.uncacheable(l)
	if why == "" {
		return nil
	}
	q.device.cache.cache.Count(stats.Of(reason.NotCacheableHeaders), 1)
	q.device.cache.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: why})
	return fmt.Errorf("not cached: %s", why)
}

func lookupFind(c *C.ks_lookup_call) error {
	q, err := requested(c.lookup)
	if err != nil {
		return err
	}
	if c.blob, err = q.live(); err != nil || c.blob != nil {
		c.origin = C.KERNSTASH_FROM_MEMORY
		return err
	}
	q.keep(c.lookup) // a populate will follow
	if err := q.cacheable(c.lookup); err != nil {
		return withStatus(C.KERNSTASH_NOT_FOUND, err)
	}
	used()
	start := time.Now()
	var a *store.Artifact
	var k key.Key
	err = q.on(func(g *engine.Group) (err error) {
		a, err = g.Stored(context.Background())
		k = g.Job().Key
		return err
	})
	took := time.Since(start)
	if err != nil {
		return fmt.Errorf("stored artifact: %w", err)
	}
	q.device.cache.Report(runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Disk, Key: k.Short(), Label: q.program,
		Spent: took, Saved: max(a.Cost-took, 0), Bytes: a.Size(),
	})
	c.blob, err = newBlob(a)
	c.origin = C.KERNSTASH_FROM_DISK
	return err
}

// on calls f with what a request means.
func (q *request) on(f func(*engine.Group) error) error {
	tier := q.device.tier
	if !tier.Enter() {
		return live.ErrClosed
	}
	defer tier.Leave()
	defer q.device.cache.cache.KeepStatsSometimes()
	g, err := q.device.session.BeginOn(q.what, 0)
	if err != nil {
		return err
	}
	return f(g)
}

// hit returns the request's program in memory, with a use added; nil: there is none.
func (q *request) hit() *program { return q.device.tier.Hit(&q.id, q.what.Image.Serial()) }

// live returns the binary of a request if it is in memory, with a use for the caller.
func (q *request) live() (*C.ks_blob, error) {
	if q.device.tier.Closed() {
		return nil, fmt.Errorf("live program: %w", live.ErrClosed)
	}
	p := q.hit()
	if p == nil {
		return nil, nil
	}
	if d := q.device.cache; d.Log != nil {
		if u, err := p.Unit(0); err == nil {
			d.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Memory, Key: u.Info.group.Job().Key.Short(), Label: q.program})
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

// use adds a use of a binary, without the way to C.
func use(b *C.ks_blob) { atomic.AddInt64((*int64)(unsafe.Pointer(&b.uses)), 1) }

var _ [8]byte = [unsafe.Sizeof(C.ks_blob{}.uses)]byte{}

func lookupPopulate(c *C.ks_lookup_call) error {
	q, err := requested(c.lookup)
	if err != nil {
		return err
	}
	q.keep(c.lookup)
	used()
	if err := q.cacheable(c.lookup); err != nil {
		return withStatus(C.KERNSTASH_NOT_STORED, err)
	}
	a := artifact(c.lookup.blob, q.program, false)
	var result store.PutResult
	var nearest string
	var k key.Key
	err = q.on(func(g *engine.Group) (err error) {
		result, nearest, err = g.Store(context.Background(), a)
		k = g.Job().Key
		return err
	})
	if result == store.Stored {
		q.device.cache.Report(runlog.Event{
			Kind: runlog.Asked, Outcome: runlog.Compiled, Key: k.Short(), Label: q.program,
			Reason: reason.MissAbsent.String(), Nearest: nearest, Spent: a.Cost,
		})
	}
	if err != nil {
		err = fmt.Errorf("store artifact: %w", err)
	}
	if errors.Is(err, live.ErrClosed) {
		return err
	}
	return withStatus(C.KERNSTASH_NOT_STORED, err)
}

func lookupRefuse(c *C.ks_lookup_call) error {
	q, err := requested(c.lookup)
	if err != nil {
		return err
	}
	q.keep(c.lookup)
	if q.uncacheable(c.lookup) != "" {
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
}

func lookupForget(c *C.ks_lookup_call) error {
	cgo.Handle(c.lookup.key).Delete()
	return nil
}
