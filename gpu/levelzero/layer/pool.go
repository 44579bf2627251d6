package layer

import (
	"context"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// native is what the core holds for a live program.
type native = guest.Native

// core is the core's context of a device.
type core = guest.Core[*native]

// pool is a device, the core's context of it, and its Runtime. It lives as long as the
// process.
type pool struct {
	guest.HostsOwn[*native]
	device   *levelzero.Device
	identity func() (key.Device, error) // asked once
	core     *core
}

var _ kernstash.Runtime[*native, struct{}] = (*pool)(nil)

// pools are those that were asked for, by ze_device_handle_t.
type pools struct {
	mu  sync.Mutex
	all map[uintptr]*pool
}

// maxKnown bounds what is remembered: nobody has so many devices.
const maxKnown = 4096

func (p *pools) find(l *Layer, r *Request) (*pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[r.Device]; known != nil {
		return known, nil
	}
	if len(p.all) >= maxKnown {
		return nil, fmt.Errorf("%w: more than %d devices", errRequest, maxKnown)
	}
	entries := levelzero.Entries{Queries: r.Queries}
	if r.Environ != nil {
		entries.Environ = r.Environ()
	} else {
		entries.Environ = guest.StartEnvironment()
	}
	d, err := levelzero.Find(entries, r.Device)
	if err != nil {
		return nil, err
	}
	own := &pool{device: d, identity: sync.OnceValues(d.Identify)}
	if own.core, err = guest.NewCore(l.door, own, l.door.Decided); err != nil {
		return nil, err
	}
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

// Load has the artifact restored.
func (p *pool) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*native, error) {
	t, err := guest.TicketOf[Ticket](ctx)
	if err == nil {
		err = t.restore(ctx, a)
	}
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	return &native{Job: job, Artifact: a}, nil
}

// Build has the program built.
func (p *pool) Build(ctx context.Context, job kernstash.Job) (*native, *store.Artifact, error) {
	t, err := guest.TicketOf[Ticket](ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	a, err := t.build(ctx, job)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	return &native{Job: job, Artifact: a}, a, nil
}
