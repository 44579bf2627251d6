//go:build linux

package main

// #include "start.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime/cgo"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

// device is a device of a door, which lookups build for. It lives as long as its
// door; devices of equal identity are one.
type device struct {
	door     *door
	identity key.Device
	asked    *opencl.Device // nil: the identity was given
	session  *engine.Session
	tier     *live.Tier[*C.ks_blob, struct{}, *unit] // of the binaries in memory
	handle   cgo.Handle
}

func deviceOpen(arg unsafe.Pointer) {
	c := (*C.ks_device_call)(arg)
	answer(&c.call, func() error {
		d := object[*door](c.cache)
		id, asked, err := identify(c)
		if err != nil {
			return withStatus(C.KERNSTASH_DEVICE, fmt.Errorf("device: %w", err))
		}
		dev := d.device(id, asked)
		c.device = C.uintptr_t(dev.handle)
		writeText(c.directory[:], id.Digest().Dir())
		return nil
	})
}

// device returns the door's device of an identity.
func (d *door) device(id key.Device, asked *opencl.Device) *device {
	digest := id.Digest()
	d.mu.Lock()
	defer d.mu.Unlock()
	dev := d.devices[digest]
	if dev == nil {
		dev = &device{door: d, identity: id, asked: asked}
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

func identify(c *C.ks_device_call) (key.Device, *opencl.Device, error) {
	if i := c.identity; i != nil {
		return key.Device{
			API: text(i.api), Platform: text(i.platform), Name: text(i.name), Version: text(i.version),
			Driver: text(i.driver),
			Traits: pairs(i.traits, i.trait_count), Compiler: pairs(i.compiler, i.compiler_count),
		}, nil, nil
	}
	driver, err := opencl.NewDriver(opencl.DriverEntries{
		Platform:        uintptr(c.platform),
		GetPlatformInfo: uintptr(c.get_platform_info), GetDeviceInfo: uintptr(c.get_device_info),
		// Of the library's load: what the host changed since then the driver may
		// have read before or after.
		Environ: os.Environ(),
	})
	if err != nil {
		return key.Device{}, nil, err
	}
	root, err := driver.Root(uintptr(c.id))
	if err != nil {
		return key.Device{}, nil, err
	}
	asked := driver.Device(root)
	id, err := asked.Identify()
	return id, asked, err
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
	if h.device.asked == nil {
		return nil, nil
	}
	return h.device.asked.SteadyVariables()
}
