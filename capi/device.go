//go:build linux

package main

// #include "start.h"
import "C"

import (
	"context"
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

// device is a device of a front end, which lookups build for, and what the engine asks about it. It
// lives as long as its front end; devices of equal identity are one.
type device struct {
	cache.Process
	cache    *openCache
	identity key.Device
	steady   steady // nil: the identity was given
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
			Decided: func(of engine.Decision) { d.Decided(of, "") },
		})
		dev.tier = live.New[*C.ks_blob, struct{}, *unit](binaries{dev}, d.cache.MemoryLimits())
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
		}, nil, nil
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
func (*device) Devices() int { return 1 }

// Identify returns the identity.
func (d *device) Identify(context.Context, int) (key.Device, error) { return d.identity, nil }

// Variables returns the variables that the compiler obeys.
func (d *device) Variables(int) ([]key.Pair, error) {
	if d.steady == nil {
		return nil, nil
	}
	return d.steady()
}
