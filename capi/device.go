//go:build linux

package main

// #include "start.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"slices"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// device is a device of a front end, which lookups build for, and what the engine asks about it. It
// lives as long as its front end; devices of equal identity are one.
type device struct {
	cache.Process
	cache    *openCache
	identity key.Device
	steady   steady
	session  *engine.Session
	tier     *live.Tier[*C.ks_blob, struct{}, *unit] // of the binaries in memory
	handle   cgo.Handle
}

func deviceOpen(c *C.ks_device_call) error {
	d := object[*openCache](c.device.cache._go)
	id, steady, err := identify(c)
	if err != nil {
		return withStatus(C.KERNSTASH_DEVICE, fmt.Errorf("device: %w", err))
	}
	dev := d.device(id, steady)
	c.device._go = C.uintptr_t(dev.handle)
	writeText(c.device.directory[:], id.Digest().Dir())
	return nil
}

// device returns the front end's device of an identity.
func (d *openCache) device(id key.Device, of steady) *device {
	digest := id.Digest()
	d.mu.Lock()
	defer d.mu.Unlock()
	dev := d.devices[digest]
	if dev == nil {
		dev = &device{cache: d, identity: id, steady: of}
		dev.session = d.cache.Engine().Session(dev, engine.SessionOptions{
			Decided: func(of engine.Decision) { d.Decided(of, of.Label()) },
		})
		dev.tier = live.New[*C.ks_blob, struct{}, *unit](dev, d.cache.MemoryLimits())
		if !d.cache.Register(dev) {
			dev.tier.Shut()
		}
		dev.handle = cgo.NewHandle(dev)
		d.devices[digest] = dev
	}
	return dev
}

// steady returns the variables that a device's compiler obeys, or that they have changed.
type steady func() ([]key.Pair, error)

func identify(c *C.ks_device_call) (key.Device, steady, error) {
	if i := c.identity; i != nil {
		return key.Device{
			API: C.GoString(i.api), Platform: C.GoString(i.platform), Name: C.GoString(i.name),
			Version: C.GoString(i.version), Driver: C.GoString(i.driver),
			Traits: pairs(i.traits, i.trait_count), Compiler: pairs(i.compiler, i.compiler_count),
		}, func() ([]key.Pair, error) { return nil, nil }, nil
	}
	return askDevice(uintptr(c.platform), uintptr(c.id), uintptr(c.get_platform_info), uintptr(c.get_device_info))
}

func pairs(first *C.kernstash_pair, n C.size_t) []key.Pair {
	var all []key.Pair
	for _, p := range unsafe.Slice(first, int(n)) {
		all = append(all, key.Pair{Name: C.GoString(p.name), Value: C.GoString(p.value)})
	}
	return all
}

// Devices, Identify and Variables answer the engine.
func (*device) Devices() int                                        { return 1 }
func (d *device) Identify(context.Context, int) (key.Device, error) { return d.identity, nil }
func (d *device) Variables(int) ([]key.Pair, error)                 { return d.steady() }

// unit is how a binary in memory was made.
type unit struct {
	group  *engine.Group
	origin C.uint32_t
}

// Kernel and what follows make it the live objects of its memory tier: binaries in C's memory.
func (*device) Kernel(*C.ks_blob, string) (struct{}, error)    { return struct{}{}, nil }
func (*device) ReleaseProgram(b *C.ks_blob)                    { C.ks_blob_unuse(b) }
func (*device) ReleaseKernel(struct{})                         {}
func (*device) Unused(*live.Unit[*C.ks_blob, struct{}, *unit]) {}
func (*device) Exhausted(error) bool                           { return false }

func (d *device) Evicted(p *program) {
	l := d.cache.cache.Loggers().Memory
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
func (*device) Final(err error) bool {
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

// artifact returns what a blob of a program holds. own says whether the code is copied; else it
// is good for as long as the blob is.
func artifact(b *C.ks_blob, program string, own bool) *store.Artifact {
	c := &b.artifact
	data := unsafe.Slice((*byte)(c.data), int(c.data_size))
	if own {
		data = slices.Clone(data)
	}
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.Form(c.form), Data: data}},
		Log:      C.GoString(c.log), Cost: time.Duration(c.cost), Created: time.Now(),
		Kernels: []store.Kernel{{Name: program}}, // what people know it by
	}
	for _, name := range unsafe.Slice(c.launches, int(c.launch_count)) {
		a.Variants = append(a.Variants, C.GoString(name))
	}
	slices.Sort(a.Variants)
	a.Variants = slices.Compact(a.Variants)
	return a
}
