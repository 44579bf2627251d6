package layer

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// native is what the core holds for a live program.
type native = guest.Native

// core is the core's context of a set of devices.
type core = guest.Core[*native]

// pool is the core's context of a set of root devices, and its Runtime.
type pool struct {
	guest.HostsOwn[*native]
	devices  []*device
	compile  bool // asked only what they compile
	observes bool // what is built is compared with what is stored
	core     *core
	units    func() int // groups of equal devices, each of which is a unit; asked once
}

var (
	_ kernstash.Runtime[*native, struct{}] = (*pool)(nil)
	_ kernstash.HeaderSearcher             = (*pool)(nil)
	_ kernstash.OptionsJudge               = (*pool)(nil)
	_ kernstash.Delegator                  = (*pool)(nil)
)

// pools are those that were asked for, by the devices and what is asked of them.
type pools struct {
	mu  sync.Mutex
	all map[string]*pool
}

// find returns the pool of devices, and for each of them its ordinal there.
func (p *pools) find(l *Layer, devices []*device, compile bool) (*pool, []int, error) {
	var set []*device
	for _, d := range devices {
		if !slices.Contains(set, d) {
			set = append(set, d)
		}
	}
	slices.SortFunc(set, func(a, b *device) int {
		if a.root < b.root {
			return -1
		}
		return 1
	})
	ordinals := make([]int, len(devices))
	for i, d := range devices {
		ordinals[i] = slices.Index(set, d)
	}
	name := fmt.Append(nil, compile)
	for _, d := range set {
		name = binary.NativeEndian.AppendUint64(name, uint64(d.root))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[string(name)]; known != nil {
		return known, ordinals, nil
	}
	if len(p.all) >= maxKnown {
		return nil, nil, fmt.Errorf("%w: more than %d sets of devices", errRequest, maxKnown)
	}
	own := &pool{devices: set, compile: compile, observes: l.door.Cache.Observes()}
	own.units = sync.OnceValue(own.countUnits)
	var err error
	own.core, err = guest.NewCore(l.door, own, func(d kernstash.Decision) { l.decided(own, d) })
	if err != nil {
		return nil, nil, err
	}
	if p.all == nil {
		p.all = make(map[string]*pool)
	}
	p.all[string(name)] = own
	return own, ordinals, nil
}

// countUnits counts the groups as the core makes them.
func (p *pool) countUnits() int {
	seen := make(map[key.Digest]bool)
	unknown := 0
	for _, d := range p.devices {
		if id, err := d.identity(); err == nil {
			seen[id.Digest()] = true
		} else {
			unknown++
		}
	}
	return len(seen) + unknown
}

// Devices returns the number of root devices.
func (p *pool) Devices() int { return len(p.devices) }

// Identify returns what decides how a device compiles.
func (p *pool) Identify(_ context.Context, device int) (key.Device, error) {
	id, err := p.devices[device].identity()
	if p.compile {
		id.API = compileAPI
	}
	return id, err
}

// Variables returns the environment variables that the device's compiler obeys.
func (p *pool) Variables(device int) ([]key.Pair, error) {
	return p.devices[device].SteadyVariables()
}

// HeaderSearch returns where the device's compiler looks for header files.
func (p *pool) HeaderSearch(device int, dir string, _ kernstash.Request) (deps.Search, error) {
	return p.devices[device].HeaderSearch(dir)
}

// AgainstOptions says what in the options has the compiler read what nobody asked it for.
func (p *pool) AgainstOptions(device int, words []string) error {
	return p.devices[device].AgainstOptions(words)
}

// Delegates says whether a worker makes the job's artifact: where code is made at
// launches, asking for it is nothing for the application's process.
func (p *pool) Delegates(job kernstash.Job) bool {
	return !job.Key.IsZero() && p.kind(job) == opencl.Deferred
}

// kind says when what a job makes is complete.
func (p *pool) kind(job kernstash.Job) opencl.Kind {
	if p.compile {
		return opencl.Final
	}
	return p.devices[job.Devices[0]].Kind()
}

// Load has the artifact restored.
func (p *pool) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*native, error) {
	t, err := guest.TicketOf[Ticket](ctx)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	if len(p.devices) > 1 {
		defer t.l.door.Cache.Engine().Awaiting()() // another unit of the ticket may wait for a lock
	}
	built, err := t.step(ctx, job, a)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	if built != nil {
		a = built // it was built after all
	}
	return &native{Job: job, Artifact: a}, nil
}

// Build has the program built. Where nothing is stored of that here nobody else is
// to wait for it: each ticket has its own built, at the same time.
func (p *pool) Build(ctx context.Context, job kernstash.Job) (*native, *store.Artifact, error) {
	t, err := guest.TicketOf[Ticket](ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	if len(p.devices) > 1 {
		defer t.l.door.Cache.Engine().Awaiting()()
	}
	if p.Delegates(job) {
		if err := t.stepAlone(job); err != nil {
			return nil, nil, fmt.Errorf("build program: %w", err)
		}
		return &native{Job: job}, nil, nil
	}
	a, err := t.step(ctx, job, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	return &native{Job: job, Artifact: a}, a, nil
}
