package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/stats"
)

// A hit asks neither objects nor source, and allocates nothing; so does one of a
// kernel.
func TestHitAsksNobody(t *testing.T) {
	f, x := newFake(t, Options{MaxPrograms: 10})
	r := &request{f: f, id: number(1, 1), asker: 1}
	p, err := r.get(x)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	k, err := p.Kernel(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	x.objects = nil // a call panics
	x.mu.Lock()     // a hit that locks hangs
	p.kernelMu.Lock()
	ctx := t.Context()
	allocations := testing.AllocsPerRun(100, func() {
		p := x.Hit(&r.id, 2)
		if !x.Use(p, 2) {
			t.Fatal("a hit cannot be used again")
		}
		p.Release()
		k, err := p.Kernel(ctx, "k")
		if err != nil || k.Native().of != p.native {
			t.Fatalf("kernel %v, %v", k, err)
		}
		k.Release()
		p.Release()
	})
	p.kernelMu.Unlock()
	x.mu.Unlock()
	x.objects = f
	if allocations != 0 {
		t.Errorf("%v allocations a hit", allocations)
	}
	if got := x.Hits(); got != 303 { // of 101 runs, one of them to warm up
		t.Errorf("%d hits counted, want 303", got)
	}
}

// A program that a build, or its asker, found to be its own is no other one's, nor
// are its parts.
func TestOwnProgramIsNotShared(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]func(r *request){
		"from the start": func(r *request) { r.own = true },
		"by the build":   func(r *request) { r.make = func(_ context.Context, u *fakeUnit) error { u.Own(r.asker); return nil } },
		"by a build that failed": func(r *request) {
			r.make = func(_ context.Context, u *fakeUnit) error { u.Own(r.asker); return errFinal }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, x := newFake(t, Options{MaxPrograms: 10})
			fails := name == "by a build that failed"
			a, b := &request{f: f, id: number(1, 1), asker: 1}, &request{f: f, id: number(1, 1), asker: 2}
			found(a)
			p, err := a.get(x)
			if fails != errors.Is(err, errFinal) {
				t.Fatal(err)
			}
			if x.Hit(&b.id, b.asker) != nil {
				t.Fatal("somebody else hits it")
			}
			q, err := b.get(x)
			if err != nil {
				t.Fatal(err)
			}
			if q == p || b.makes != 1 {
				t.Errorf("%d parts were made for the other one", b.makes)
			}
			q.Release()
			if !fails {
				p.Release()
			}
			// For more devices the unit is found, and is another one's.
			more := &request{f: f, id: number(1, 3), asker: 3}
			s, err := more.get(x)
			if err != nil {
				t.Fatal(err)
			}
			if s.ID() != more.id {
				t.Error("what is no one's own is found by nobody")
			}
			for _, u := range s.Units() {
				if !fails && slices.Contains(p.Units(), u) {
					t.Error("a part of another one's own program")
				}
			}
			s.Release()
			end(x)
			f.wantLive(0, 0)
			wantEmpty(t, x)
		})
	}
}

// Programs leave in the order of their last use, by bytes as by count; those that
// were hit since the last build are the last.
func TestLeastRecentlyUsedLeavesFirst(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxBytes: 35, MaxPrograms: 100})
	requests := make([]*request, 5)
	for i := range requests {
		requests[i] = &request{f: f, id: number(i, 1), asker: 1, bytes: 10}
	}
	for _, i := range []int{0, 1, 2, 0, 3} { // 40 bytes with 3: 1 leaves
		requests[i].use(x)
	}
	x.SetLimits(0, 2) // 2, then 0
	if want := []ID{requests[1].id, requests[2].id}; !slices.Equal(f.evicted, want) {
		t.Errorf("evicted %v, want %v", f.evicted, want)
	}
	requests[4].use(x)
	if programs, _ := x.Len(); programs != 2 || f.evicted[2] != requests[0].id {
		t.Errorf("%d programs, then %v evicted", programs, f.evicted[2])
	}
	f.wantCount(stats.MemoryEvictions, 3)
	f.wantLive(2, 0)
	// A unit that two programs hold counts once.
	x.SetLimits(20, 100)
	x.Clear()
	both := &request{f: f, id: number(9, 3), asker: 1, bytes: 10}
	both.use(x)
	(&request{f: f, id: number(9, 1), asker: 1, bytes: 10}).use(x)
	if programs, _ := x.Len(); programs != 2 || both.makes != 2 {
		t.Errorf("%d programs of 20 bytes, %d parts made", programs, both.makes)
	}
	x.SetLimits(5, 100) // without the larger one there are 10 still
	if programs, _ := x.Len(); programs != 0 {
		t.Errorf("%d programs of 10 bytes under a limit of 5", programs)
	}
}

// What runs out is cleared, and what failed is tried once more, a part or a kernel;
// programs in use stay alive.
func TestExhaustedClearsAndRetries(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxPrograms: 10})
	for i := range 3 {
		(&request{f: f, id: number(i, 1), asker: 1}).use(x)
	}
	failed := false
	r := &request{f: f, id: number(3, 1), asker: 1, make: func(_ context.Context, u *fakeUnit) error {
		if failed {
			return nil
		}
		failed = true
		f.publish(u, 1) // as far as it came
		return errExhausted
	}}
	p, err := r.get(x)
	if err != nil || r.makes != 2 {
		t.Fatalf("%d tries, %v", r.makes, err)
	}
	defer p.Release()
	f.wantLive(1, 0)
	tries := 0
	f.kernel = func() error {
		if tries++; tries == 1 {
			return errExhausted
		}
		return nil
	}
	k, err := p.Kernel(t.Context(), "k")
	if err != nil || tries != 2 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	k.Release()
	f.wantLive(1, 1)
	if programs, _ := x.Len(); programs != 0 {
		t.Errorf("%d programs are kept", programs)
	}
	f.wantCount(stats.OutOfResources, 2)
}

// A build that fails, or panics, after it has made the runtime's program leaves
// nothing behind.
func TestFailureAfterPublish(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxPrograms: 10})
	r := &request{f: f, id: number(1, 1), asker: 1}
	for _, fail := range []func() error{
		func() error { return errors.New("sporadic") },
		func() error { panic("in a callback") },
		func() error { runtime.Goexit(); return nil },
	} {
		r.make = func(_ context.Context, u *fakeUnit) error {
			f.publish(u, 1)
			return fail()
		}
		if p, err := r.get(x); err == nil {
			t.Fatal(p)
		}
		f.wantLive(0, 0)
		wantEmpty(t, x)
	}
	r.make = nil
	r.use(x)
	f.wantLive(1, 0)
}

// A program whose place was taken while it was made is its users' alone.
func TestDisplacedProgramIsNotKept(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxPrograms: 10})
	r := &request{f: f, id: number(1, 1), asker: 1}
	r.make = func(context.Context, *fakeUnit) error {
		x.programs.remove(x.programs.load(&r.id), nil)
		x.programs.loadOrAdd(&r.id, func() *fakeProgram { return newProgram(x, r.id) })
		return nil
	}
	p, err := r.get(x)
	if err != nil {
		t.Fatal(err)
	}
	f.wantLive(1, 0)
	if programs, _ := x.Len(); programs != 0 {
		t.Errorf("%d programs are kept", programs)
	}
	p.Release()
	f.wantLive(0, 0)
}

// Release waits for a unit that is held, as a capture holds it, until its deadline;
// after it the objects are not called.
func TestReleaseWaitsForUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, x := newFake(t, Options{MaxPrograms: 10})
		p, err := (&request{f: f, id: number(1, 1), asker: 1}).get(x)
		if err != nil {
			t.Fatal(err)
		}
		held := p.Units()[0]
		held.Retain()
		x.Shut()
		start := time.Now()
		time.AfterFunc(time.Second, held.Release)
		x.Release(start.Add(time.Minute))
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited for %v, want 1s", took)
		}
		f.wantLive(0, 0)
		p.Release() // nothing
		if _, err := p.Kernel(t.Context(), "k"); !errors.Is(err, ErrClosed) {
			t.Errorf("Kernel: %v", err)
		}

		f, x = newFake(t, Options{MaxPrograms: 10})
		p, err = (&request{f: f, id: number(1, 1), asker: 1}).get(x)
		if err != nil {
			t.Fatal(err)
		}
		held = p.Units()[0]
		held.Retain()
		x.Shut()
		start = time.Now()
		x.Release(start.Add(time.Second))
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited for %v, want until the deadline", took)
		}
		held.Release()
		f.wantLive(1, 0) // leaked: the runtime's context may be gone
	})
}

// Everything at once: callers that give up, failures of every kind, sets of devices,
// programs that are one's own, evictions, units that are held, and an end in the
// middle. Each object is released once, and nothing is left.
func TestTierStress(t *testing.T) {
	t.Parallel()
	for range 6 {
		f, x := newFake(t, Options{MaxPrograms: 5})
		f.kernel = func() error {
			if rand.IntN(20) == 0 {
				return errExhausted
			}
			return nil
		}
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				for !x.Closed() {
					stressCaller(t, f, x)
				}
			})
		}
		time.Sleep(40 * time.Millisecond)
		end(x)
		f.wantLive(0, 0)
		all.Wait()
		wantEmpty(t, x)
		if x.Hits() < 0 {
			t.Error("fewer hits than none")
		}
	}
}

func stressCaller(t *testing.T, f *fake, x *fakeTier) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch rand.IntN(4) {
	case 0:
		cancel()
	case 1:
		time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, cancel)
	}
	switch rand.IntN(60) {
	case 0:
		x.Clear()
	case 1:
		x.Len()
	case 2:
		x.SetLimits(int64(rand.IntN(30)), rand.IntN(6))
	}
	r := &request{
		f: f, id: number(rand.IntN(8), 1+rand.Uint64N(7)), asker: 1 + rand.Uint64N(3),
		own: rand.IntN(20) == 0, bytes: rand.Int64N(10),
	}
	r.make = func(ctx context.Context, u *fakeUnit) error {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		switch rand.IntN(12) {
		case 0:
			return errors.New("sporadic")
		case 1:
			panic("driver")
		case 2:
			return errExhausted
		case 3:
			return errFinal
		case 4:
			runtime.Goexit()
		case 5:
			u.Own(r.asker)
		case 6:
			f.publish(u, 1)
			return errors.New("late")
		}
		return ctx.Err()
	}
	p := x.Hit(&r.id, r.asker)
	if p == nil {
		var err error
		if p, err = x.Get(ctx, r.id, r.asker, r); err != nil {
			return
		}
	}
	if p.exclusiveToOther(r.asker) {
		t.Error("another one's program")
	}
	if u := p.Units()[0]; rand.IntN(4) == 0 && x.Enter() {
		u.Retain()
		time.AfterFunc(time.Microsecond, func() { u.SetBytes(3); u.Release(); x.Leave() })
	}
	if k, err := p.Kernel(ctx, "k"); err == nil {
		defer k.Release()
	}
	p.Release()
	if x.Use(p, r.asker) { // it may have been evicted, and released, meanwhile
		if p.exclusiveToOther(r.asker) {
			t.Error("another one's program is used again")
		}
		if _, err := p.Kernel(ctx, "k"); err == nil {
			p.Release()
		} else if errors.Is(err, ErrClosed) && !x.Closed() {
			t.Error("a program is used again that was released")
		}
		p.Release()
	}
}
