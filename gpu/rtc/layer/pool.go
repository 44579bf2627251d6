package layer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/store"
)

// native is what the core holds for a live program.
type native = guest.Native

// pool is a library, the core's context of it, and its Runtime. It lives as long as
// the process.
type pool struct {
	rtc.Runtime
	door guest.Door
	core *guest.Core[*native]
}

var _ kernstash.Runtime[*native, struct{}] = (*pool)(nil)

// poolID finds a pool.
type poolID struct {
	api     rtc.API
	compile uintptr
}

type pools struct {
	mu    sync.Mutex
	all   map[poolID]*pool
	order []poolID // the oldest first
}

// maxPools bounds what is remembered: a process may load and unload libraries.
const maxPools = 64

func (p *pools) find(l *Layer, r *Request) (*pool, error) {
	id := poolID{r.API, r.Compile}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.all[id]; known != nil {
		return known, nil
	}
	library, err := rtc.Loaded(r.API, r.Compile, r.Major, r.Minor)
	if err != nil {
		return nil, err
	}
	own := &pool{Runtime: rtc.Runtime{Library: library}, door: l.door(r.API)}
	if own.core, err = guest.NewCore(own.door, own, own.door.Decided); err != nil {
		return nil, err
	}
	if old := p.add(id, own); old != nil {
		go old.core.Close() // waits for builds that go on
	}
	own.door.Report(runlog.Event{Kind: runlog.Loaded})
	return own, nil
}

// add adds a pool and returns the oldest if that had to go for it.
func (p *pools) add(id poolID, own *pool) (old *pool) {
	if p.all == nil {
		p.all = make(map[poolID]*pool)
	}
	if len(p.order) >= maxPools {
		old = p.all[p.order[0]]
		delete(p.all, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
	p.all[id], p.order = own, append(p.order, id)
	return old
}

// Load reads the artifact.
func (p *pool) Load(_ context.Context, job kernstash.Job, a *store.Artifact) (*native, error) {
	o, err := rtc.FromArtifact(a, rtc.NameOf(job.Recipe))
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	return &native{Job: job, Artifact: a, Output: o}, nil
}

// Build has the program compiled.
func (p *pool) Build(ctx context.Context, job kernstash.Job) (*native, *store.Artifact, error) {
	t, err := guest.TicketOf[Ticket](ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	c, err := t.core.Step(ctx, struct{}{})
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	if c.output == nil || p.Library.Confirm() != nil {
		return &native{Job: job, Output: c.output}, nil, nil
	}
	a, err := c.output.Artifact(job.Recipe)
	if err != nil {
		return &native{Job: job, Output: c.output}, nil, err
	}
	a.Cost = c.took
	return &native{Job: job, Artifact: a, Output: c.output}, a, nil
}

// Kernel is not called: kernels are the application's.
func (p *pool) Kernel(*native, string) (struct{}, error) { return struct{}{}, nil }

// ReleaseProgram does nothing: the library's object is the application's.
func (p *pool) ReleaseProgram(*native) {}
