package layer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// deviceContext is a set of root devices, which the engine asks about them.
type deviceContext struct {
	cache.Process
	devices  []*opencl.Device
	compile  bool // asked only what they compile
	observes bool // what is built is compared with what is stored
	session  *engine.Session
}

var _ engine.Host = (*deviceContext)(nil)

// deviceContexts are those that were asked for, by the devices and what is asked of them.
type deviceContexts struct {
	mu  sync.Mutex
	all map[string]*deviceContext
}

// find returns the deviceContext of devices, and for each of them its ordinal there.
func (p *deviceContexts) find(frontEnd inprocess.FrontEnd, devices []*opencl.Device, compile bool) (*deviceContext, []int, error) {
	set := slices.Clone(devices)
	slices.SortFunc(set, func(a, b *opencl.Device) int { return cmp.Compare(a.Handle(), b.Handle()) })
	set = slices.Compact(set)
	ordinals := make([]int, len(devices))
	for i, d := range devices {
		ordinals[i] = slices.Index(set, d)
	}
	name := strconv.FormatBool(compile)
	for _, d := range set {
		name += " " + strconv.FormatUint(uint64(d.Handle()), 10)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[name]; known != nil {
		return known, ordinals, nil
	}
	if len(p.all) >= maxKnown {
		return nil, nil, fmt.Errorf("more than %d sets of devices", maxKnown)
	}
	own := &deviceContext{devices: set, compile: compile, observes: frontEnd.Cache.Observes()}
	own.session = frontEnd.Cache.Engine().Session(own, engine.SessionOptions{
		OptionsAsGiven: true,                    // what the compiler is given is the application's to say
		Share:          frontEnd.Cache.Writes(), // else no binary is asked for
		Decided:        frontEnd.Decided,
	})
	p.all[name] = own
	return own, ordinals, nil
}

// Devices implements engine.Host.
func (p *deviceContext) Devices() int { return len(p.devices) }

// Identify implements engine.Host. What is asked only what it compiles has an identity of its own.
func (p *deviceContext) Identify(_ context.Context, device int) (key.Device, error) {
	id, err := p.devices[device].Identify()
	if p.compile {
		id.API = "opencl-compiled"
	}
	return id, err
}

// Variables implements engine.Host.
func (p *deviceContext) Variables(device int) ([]key.Pair, error) {
	return p.devices[device].SteadyVariables()
}

// HeaderSearch implements engine.Host.
func (p *deviceContext) HeaderSearch(device int, dir string, _ engine.Request) (deps.Search, error) {
	return p.devices[device].HeaderSearch(dir)
}

// CheckOptions implements engine.Host.
func (p *deviceContext) CheckOptions(device int, words []string) error {
	return p.devices[device].CheckOptions(words)
}

// Delivery says that a worker makes the artifact where code is made at launches: asking
// the driver for it is nothing for the application's process.
func (p *deviceContext) Delivery(job engine.Job) engine.Delivery {
	if !job.Key.IsZero() && p.kind(job.Devices[0]) == opencl.Deferred {
		return engine.Elsewhere
	}
	return engine.AtBuild
}

// kind says when what is made for a device is complete.
func (p *deviceContext) kind(device int) opencl.Kind {
	if p.compile {
		return opencl.Final
	}
	return p.devices[device].Kind()
}

// drivers are the drivers and root devices that were seen.
type drivers struct {
	mu      sync.Mutex
	known   map[[3]uintptr]*opencl.Platform
	devices map[uintptr]*opencl.Device // by cl_device_id
}

// maxKnown bounds what is remembered: nobody has so many drivers, or devices.
const maxKnown = 4096

// errUnknown is returned for drivers that the layer leaves alone.
var errUnknown = errors.New("a driver that kernstash does not know")

// find returns the root device that a device of a request's driver is a part of.
func (d *drivers) find(r *Request, handle uintptr) (*opencl.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.devices[handle]; known != nil {
		return known, nil
	}
	platform, err := d.platform(r)
	if err != nil {
		return nil, err
	}
	if !platform.IsKnown() {
		return nil, errUnknown // it gets no call that the application did not make
	}
	// A part is not remembered: when it is released another may get its handle.
	root, err := platform.Root(handle)
	if err != nil {
		return nil, err
	}
	if known := d.devices[root]; known != nil {
		return known, nil
	}
	if len(d.devices) >= maxKnown {
		return nil, fmt.Errorf("more than %d devices", maxKnown)
	}
	own := platform.Device(root)
	d.devices[root] = own
	return own, nil
}

func (d *drivers) platform(r *Request) (*opencl.Platform, error) {
	e, environ := r.Driver, r.Environ
	id := [3]uintptr{e.Platform, e.GetPlatformInfo, e.GetDeviceInfo}
	if known := d.known[id]; known != nil {
		return known, nil
	}
	if len(d.known) >= maxKnown {
		return nil, fmt.Errorf("more than %d drivers", maxKnown)
	}
	if environ == nil {
		environ = inprocess.StartEnvironment
	}
	e.Environ = environ()
	platform, err := opencl.PlatformOf(e)
	if err != nil {
		return nil, err
	}
	d.known[id] = platform
	return platform, nil
}
