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

// device is a device of a front end, which lookups build for. It lives as long as its
// front end; devices of equal identity are one.
type device struct {
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
		dev.session = d.cache.Engine().Session(deviceHost{device: dev}, engine.SessionOptions{
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
			API: text(i.api), Platform: text(i.platform), Name: text(i.name), Version: text(i.version),
			Driver: text(i.driver),
			Traits: pairs(i.traits, i.trait_count), Compiler: pairs(i.compiler, i.compiler_count),
		}, nil, nil
	}
	return askDevice(uintptr(c.platform), uintptr(c.id), uintptr(c.get_platform_info), uintptr(c.get_device_info))
}

func pairs(first *C.kernstash_pair, n C.size_t) []key.Pair {
	var all []key.Pair
	for _, p := range unsafe.Slice(first, int(n)) {
		all = append(all, key.Pair{Name: text(p.name), Value: text(p.value)})
	}
	return all
}

// deviceHost answers the engine's questions about a device.
type deviceHost struct {
	cache.Process
	device *device
}

func (deviceHost) Devices() int { return 1 }

func (h deviceHost) Identify(context.Context, int) (key.Device, error) { return h.device.identity, nil }

func (h deviceHost) Variables(int) ([]key.Pair, error) {
	if h.device.steady == nil {
		return nil, nil
	}
	return h.device.steady()
}
