package layer

import (
	"context"
	"sync"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// pool is a device, and the engine's session of it, which asks it. It lives as long as the
// process.
type pool struct {
	cache.Process
	device   *levelzero.Device
	identity func() (key.Device, error) // asked once
	session  *engine.Session
}

// pools are those that were asked for, by ze_device_handle_t.
type pools struct {
	mu  sync.Mutex
	all map[uintptr]*pool
}

func (p *pools) find(l *Layer, r *Request) (*pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[r.Device]; known != nil {
		return known, nil
	}
	entries := levelzero.Entries{Queries: r.Queries}
	if r.Environ != nil {
		entries.Environ = r.Environ()
	} else {
		entries.Environ = inprocess.StartEnvironment()
	}
	d, err := levelzero.Find(entries, r.Device)
	if err != nil {
		return nil, err
	}
	own := &pool{device: d, identity: sync.OnceValues(d.Identify)}
	own.session = l.Cache.Engine().Session(own, engine.SessionOptions{
		OptionsAsGiven: true, Share: true, Decided: l.Decided,
	})
	if p.all == nil {
		p.all = make(map[uintptr]*pool)
	}
	p.all[r.Device] = own
	return own, nil
}

// Devices returns 1.
func (p *pool) Devices() int { return 1 }

// Identify returns what decides how the device compiles.
func (p *pool) Identify(context.Context, int) (key.Device, error) { return p.identity() }

// Variables returns the environment variables that the device's compiler obeys.
func (p *pool) Variables(int) ([]key.Pair, error) { return p.device.SteadyVariables() }
