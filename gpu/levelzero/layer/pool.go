package layer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// native is what the core holds for a live program: what whoever asks for the same
// program at the same time is served with.
type native struct {
	job      kernstash.Job
	artifact *store.Artifact // nil: there is none
}

// core is the core's context of a device.
type core = kernstash.Context[*native, struct{}]

// pool is a device, the core's context of it, and its Runtime. It lives as long as the
// process.
type pool struct {
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
	own.core = kernstash.NewContext(l.cache, own, kernstash.ContextOptions{
		OptionsAsGiven: true, // what the driver is given is the application's to say
		Decided:        l.decided,
	})
	if err := own.core.SetLimits(0, 0); err != nil {
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

// ticketKey finds the Ticket in a build's context: that of the request which the core
// has build for all who ask.
type ticketKey struct{}

var errNoTicket = errors.New("no ticket")

// Load has the artifact restored.
func (p *pool) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*native, error) {
	t, ok := ctx.Value(ticketKey{}).(*Ticket)
	if !ok {
		return nil, fmt.Errorf("load program: %w: %w", kernstash.ErrAbandoned, errNoTicket)
	}
	if _, err := t.step(ctx, job, a); err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	return &native{job, a}, nil
}

// Build has the program built.
func (p *pool) Build(ctx context.Context, job kernstash.Job) (*native, *store.Artifact, error) {
	t, ok := ctx.Value(ticketKey{}).(*Ticket)
	if !ok {
		return nil, nil, fmt.Errorf("build program: %w: %w", kernstash.ErrAbandoned, errNoTicket)
	}
	a, err := t.step(ctx, job, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	return &native{job, a}, a, nil
}

// Kernel is not called: kernels are the application's.
func (p *pool) Kernel(*native, string) (struct{}, error) { return struct{}{}, nil }

// ReleaseProgram does nothing: the driver's object is the application's.
func (p *pool) ReleaseProgram(*native) {}

// ReleaseKernel does nothing.
func (p *pool) ReleaseKernel(struct{}) {}
