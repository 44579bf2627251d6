package layer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// pool is a set of root devices, which the engine asks about them.
type pool struct {
	cache.Process
	devices  []*opencl.Device
	compile  bool // asked only what they compile
	observes bool // what is built is compared with what is stored
	session  *engine.Session
}

var _ engine.Host = (*pool)(nil)

// pools are those that were asked for, by the devices and what is asked of them.
type pools struct {
	mu  sync.Mutex
	all map[string]*pool
}

// find returns the pool of devices, and for each of them its ordinal there.
func (p *pools) find(frontEnd inprocess.FrontEnd, devices []*opencl.Device, compile bool) (*pool, []int, error) {
	set := slices.Clone(devices)
	slices.SortFunc(set, func(a, b *opencl.Device) int { return cmp.Compare(a.Handle(), b.Handle()) })
	set = slices.Compact(set)
	ordinals := make([]int, len(devices))
	for i, d := range devices {
		ordinals[i] = slices.Index(set, d)
	}
	name := fmt.Sprint(compile)
	for _, d := range set {
		name += fmt.Sprint(" ", d.Handle())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[name]; known != nil {
		return known, ordinals, nil
	}
	if len(p.all) >= maxKnown {
		return nil, nil, fmt.Errorf("more than %d sets of devices", maxKnown)
	}
	own := &pool{devices: set, compile: compile, observes: frontEnd.Cache.Observes()}
	own.session = frontEnd.Cache.Engine().Session(own, engine.SessionOptions{
		OptionsAsGiven: true,                    // what the compiler is given is the application's to say
		Share:          frontEnd.Cache.Writes(), // else no binary is asked for
		Decided:        frontEnd.Decided,
	})
	p.all[name] = own
	return own, ordinals, nil
}

// Devices returns the number of root devices.
func (p *pool) Devices() int { return len(p.devices) }

// Identify returns what decides how a device compiles.
func (p *pool) Identify(_ context.Context, device int) (key.Device, error) {
	id, err := p.devices[device].Identify()
	if p.compile {
		id.API = compileAPI
	}
	return id, err
}

// compileAPI stands for "opencl" in the identity of a device that is asked what
// it compiles: whether a unit does is known under a key of its own.
const compileAPI = "opencl-compiled"

// Variables returns the environment variables that the device's compiler obeys.
func (p *pool) Variables(device int) ([]key.Pair, error) {
	return p.devices[device].SteadyVariables()
}

// HeaderSearch returns where the device's compiler looks for header files.
func (p *pool) HeaderSearch(device int, dir string, _ engine.Request) (deps.Search, error) {
	return p.devices[device].HeaderSearch(dir)
}

// CheckOptions says what in the options has the compiler read what nobody asked it for.
func (p *pool) CheckOptions(device int, words []string) error {
	return p.devices[device].AgainstOptions(words)
}

// Delivery says that a worker makes the artifact where code is made at launches: asking
// the driver for it is nothing for the application's process.
func (p *pool) Delivery(job engine.Job) engine.Delivery {
	if !job.Key.IsZero() && p.kind(job.Devices[0]) == opencl.Deferred {
		return engine.Elsewhere
	}
	return engine.AtBuild
}

// kind says when what is made for a device is complete.
func (p *pool) kind(device int) opencl.Kind {
	if p.compile {
		return opencl.Final
	}
	return p.devices[device].Kind()
}
