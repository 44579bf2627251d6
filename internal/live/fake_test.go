package live

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

type (
	fakeTier    = Tier[*native, *nativeKernel, string]
	fakeUnit    = Unit[*native, *nativeKernel, string]
	fakeProgram = Program[*native, *nativeKernel, string]
)

type native struct{ part key.Digest }

type nativeKernel struct{ of *native }

var (
	errFinal     = errors.New("the compiler refuses it")
	errExhausted = errors.New("nothing left")
)

// fake is what a Tier works on; it sees that each object is released once, kernels
// first.
type fake struct {
	t        testing.TB
	kernel   func() error // may be nil
	counters stats.Counters

	mu      sync.Mutex
	natives map[*native]bool
	kernels map[*nativeKernel]bool
	unused  map[*fakeUnit]string // what was noted of each
	evicted []ID
}

func newFake(t testing.TB, o Options) (*fake, *fakeTier) {
	f := &fake{t: t, natives: make(map[*native]bool), kernels: make(map[*nativeKernel]bool), unused: make(map[*fakeUnit]string)}
	o.Recorder = &f.counters
	return f, New(f, o)
}

func (f *fake) Kernel(p *native, _ string) (*nativeKernel, error) {
	if f.kernel != nil {
		if err := f.kernel(); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.natives[p] {
		f.t.Error("kernel of a released program")
	}
	k := &nativeKernel{p}
	f.kernels[k] = true
	return k, nil
}

func (f *fake) ReleaseProgram(p *native) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.natives[p] {
		f.t.Error("program released twice")
	}
	for k := range f.kernels {
		if k.of == p {
			f.t.Error("program released before its kernel")
		}
	}
	delete(f.natives, p)
}

func (f *fake) ReleaseKernel(k *nativeKernel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.kernels[k] {
		f.t.Error("kernel released twice")
	}
	delete(f.kernels, k)
}

func (f *fake) Unused(u *fakeUnit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, twice := f.unused[u]; twice {
		f.t.Error("a unit is unused for the second time")
	}
	f.unused[u] = u.Info
}

func (f *fake) Evicted(p *fakeProgram) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evicted = append(f.evicted, p.ID())
}

func (f *fake) Final(err error) bool     { return errors.Is(err, errFinal) }
func (f *fake) Exhausted(err error) bool { return errors.Is(err, errExhausted) }

func (f *fake) publish(u *fakeUnit, bytes int64) {
	n := &native{u.id.what}
	f.mu.Lock()
	f.natives[n] = true
	f.mu.Unlock()
	u.Info = "made"
	u.Publish(n, bytes)
}

func (f *fake) live() (natives, kernels int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.natives), len(f.kernels)
}

func (f *fake) wantLive(natives, kernels int) {
	f.t.Helper()
	if n, k := f.live(); n != natives || k != kernels {
		f.t.Errorf("%d programs and %d kernels live, want %d and %d", n, k, natives, kernels)
	}
}

func (f *fake) wantCount(c stats.Counter, want int64) {
	f.t.Helper()
	if got := f.counters.Snapshot()[c]; got != want {
		f.t.Errorf("%v = %d, want %d", c, got, want)
	}
}

// wantEmpty checks that nothing is left in a closed Tier.
func wantEmpty(t testing.TB, x *fakeTier) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.units) != 0 || len(x.live) != 0 || len(x.cached) != 0 || x.natives != 0 {
		t.Errorf("left: %d units, %d live, %d cached, %d natives", len(x.units), len(x.live), len(x.cached), x.natives)
	}
}

// request is a Source whose parts have one device each.
type request struct {
	f     *fake
	bytes int64
	own   bool                                         // its asker's own from the start
	id    ID                                           // that it shares with others
	asker uint64                                       // not 0
	make  func(ctx context.Context, u *fakeUnit) error // before publishing; may be nil
	makes int                                          // calls of Make, one after the other

	mu sync.Mutex
}

func (r *request) Parts(id ID) (parts []Part, own bool) {
	for d := range 64 {
		if id.Devices&(1<<d) != 0 {
			parts = append(parts, Part{What: id.What, Devices: []int{d}})
		}
	}
	return parts, r.own
}

func (r *request) Make(ctx context.Context, u *fakeUnit, _ int) error {
	r.mu.Lock()
	r.makes++
	r.mu.Unlock()
	if r.make != nil {
		if err := r.make(ctx, u); err != nil {
			return err
		}
	}
	r.f.publish(u, r.bytes)
	return nil
}

func (r *request) Own() ID {
	id := r.id
	id.What[31] = byte(r.asker)
	return id
}

func (r *request) get(x *fakeTier) (*fakeProgram, error) {
	if p := x.Hit(&r.id, r.asker); p != nil {
		return p, nil
	}
	return x.Get(r.f.t.Context(), r.id, r.asker, r)
}

// use asks for the program and gives it back.
func (r *request) use(x *fakeTier) {
	r.f.t.Helper()
	p, err := r.get(x)
	if err != nil {
		r.f.t.Fatal(err)
	}
	p.Release()
}

// number returns the id of the n-th program for a set of devices.
func number(n int, devices uint64) ID {
	return ID{What: key.Digest{1, byte(n), byte(n >> 8)}, Devices: devices}
}

func end(x *fakeTier) {
	x.Shut()
	x.Release(time.Now().Add(time.Minute))
}
