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

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// device is a device of a door, which lookups build for. It lives as long as its
// door; devices of equal identity are one.
type device struct {
	door     *door
	identity key.Device
	asked    *opencl.Device // nil: the identity was given
	context  *kernstash.Context[*guest.Native, struct{}]
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
		dev.context = kernstash.NewContext(d.cache, runtime{dev}, kernstash.ContextOptions{Decided: d.decided})
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

// runtime makes a device's builds those of C: what is live is a binary in C's
// memory, a *C.ks_blob, and the builder is whoever holds the ticket.
type runtime struct{ device *device }

var _ kernstash.Runtime[*guest.Native, struct{}] = runtime{}

func (runtime) Devices() int { return 1 }

func (r runtime) Identify(context.Context, int) (key.Device, error) { return r.device.identity, nil }

func (r runtime) Variables(int) ([]key.Pair, error) {
	if r.device.asked == nil {
		return nil, nil
	}
	return r.device.asked.SteadyVariables()
}

func (r runtime) Build(ctx context.Context, _ kernstash.Job) (*guest.Native, *store.Artifact, error) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok {
		return nil, nil, fmt.Errorf("build: no thread to build on: %w", dl.ErrUnsupported)
	}
	b, a, err := t.build(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &guest.Native{Output: b}, a, nil
}

func (runtime) Load(_ context.Context, _ kernstash.Job, a *store.Artifact) (*guest.Native, error) {
	b, err := newBlob(a)
	if err != nil {
		return nil, err
	}
	return &guest.Native{Output: b}, nil
}

func (runtime) Kernel(*guest.Native, string) (struct{}, error) { return struct{}{}, nil }
func (runtime) ReleaseProgram(n *guest.Native)                 { C.ks_blob_unuse(n.Output.(*C.ks_blob)) }
func (runtime) ReleaseKernel(struct{})                         {}
