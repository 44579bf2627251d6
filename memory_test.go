package kernstash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bubble runs f with a clock that jumps when every goroutine waits, on a cache
// without a store.
func bubble(t *testing.T, f func(t *testing.T, c *Cache)) {
	t.Helper()
	bubbleOn(t, Options{NoDisk: true, Mode: settings.ModeReadOnly}, f)
}

func bubbleOn(t *testing.T, o Options, f func(t *testing.T, c *Cache)) {
	t.Helper()
	o.ConfigFile = emptyConfig(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f(t, c)
	})
}

// DPC++: one builder, the others wait for it; here with 1,000 of them.
func TestThousandGoroutinesOneBuild(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Second
		x := fakeContextOn(c, f)
		img := image(t, src(1))
		var all sync.WaitGroup
		handles := make([]*fakeHandle, 1000)
		for i := range handles {
			all.Go(func() {
				p, err := x.Program(t.Context(), Request{Image: img})
				if err != nil {
					t.Error(err)
				}
				handles[i] = p
			})
		}
		all.Wait()
		f.wantBuilds(1)
		wantStats(t, c, map[stats.Counter]int64{
			stats.MemoryHits: 0, stats.MemoryMisses: 1000, stats.MemoryWaits: 999, stats.Builds: 1,
		})
		for _, p := range handles {
			p.Release()
		}
		use(t, x, Request{Image: img})
		wantStats(t, c, map[stats.Counter]int64{stats.MemoryHits: 1})
		if _, _, live, _ := f.counts(); live != 1 {
			t.Errorf("%d live programs, want the cached one", live)
		}
		x.Clear()
		if _, _, live, _ := f.counts(); live != 0 {
			t.Errorf("%d live programs after Clear", live)
		}
		wantStats(t, c, map[stats.Counter]int64{stats.MemoryHits: 1})
	})
}

// A leader's deadline must not fail healthy followers (x/sync/singleflight
// failed 9 of 9).
func TestCancelledLeaderFailsNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Second
		x := fakeContextOn(c, f)
		r := Request{Image: image(t, src(1))}
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := x.Program(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("leader: %v, want its own deadline", err)
			}
		})
		synctest.Wait()
		for range 300 {
			all.Go(func() { use(t, x, r) })
		}
		all.Wait()
		f.wantBuilds(1)
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	diagnostic := &BuildError{Code: -11, Log: "1:1: error: no"}
	tests := []struct {
		name   string
		fail   func(n int) error // n-th build, from 1
		first  func(error) bool
		builds int // after two requests, one after the other
	}{
		{ // DPC++ 14: requested twice, the same code and message
			name: "a diagnostic is kept", fail: func(int) error { return diagnostic },
			first: func(err error) bool {
				var b *BuildError
				return errors.As(err, &b) && b.Code == -11 && b.Log == "1:1: error: no"
			}, builds: 1,
		},
		{
			name: "a spurious failure is forgotten", fail: func(int) error { return errors.New("sporadic") },
			first:  func(err error) bool { return err != nil && err.Error() == "program: sporadic" },
			builds: 2,
		},
		{
			name: "a panic is an error", fail: func(int) error { panic("driver") },
			first: func(err error) bool {
				var p *flight.PanicError
				return errors.As(err, &p) && p.Value == "driver"
			}, builds: 2,
		},
		{ // DPC++ 11: exactly one retry, a second failure is final
			name: "out of resources", fail: func(int) error { return fmt.Errorf("create: %w", ErrOutOfResources) },
			first: func(err error) bool { return errors.Is(err, ErrOutOfResources) }, builds: 4,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *Cache) {
				f := newFake(t)
				n := 0
				f.build = func(context.Context, Job) error { n++; return tt.fail(n) }
				x := fakeContextOn(c, f)
				r := Request{Image: image(t, src(1))}
				for range 2 {
					if _, err := x.Program(t.Context(), r); !tt.first(err) {
						t.Errorf("Program: %v", err)
					}
				}
				f.wantBuilds(tt.builds)
			})
		})
	}
}

// DPC++ 11: out of resources clears the caches and retries once, after which
// only the new program is cached; at building, loading's twin, and at kernels.
func TestOutOfResourcesClearsAndRetries(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		for i := range 3 {
			use(t, x, Request{Image: image(t, src(i))})
		}
		failed := false
		f.build = func(context.Context, Job) error {
			if !failed {
				failed = true
				return ErrOutOfResources
			}
			return nil
		}
		use(t, x, Request{Image: image(t, src(9))})
		if programs, _ := x.Len(); programs != 1 {
			t.Errorf("%d programs cached, want only the new one", programs)
		}
		f.wantBuilds(5)

		kernels := 0
		f.kernel = func(*fakeProgram, string) error {
			if kernels++; kernels == 1 {
				return ErrOutOfResources
			}
			return nil
		}
		use(t, x, Request{Image: image(t, src(3))})
		k, err := x.Kernel(t.Context(), Request{Image: image(t, src(9))}, "k")
		if err != nil {
			t.Fatal(err)
		}
		k.Release()
		wantStats(t, c, map[stats.Counter]int64{stats.OutOfResources: 2})
	})
}

// DPC++ 9: three programs of 10,000 bytes under a limit of 20,005.
func TestMemoryEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.size = 10_000
		x := fakeContextOn(c, f)
		if err := x.SetLimits(20_005, 1024); err != nil {
			t.Fatal(err)
		}
		k1, k2, k3 := Request{Image: image(t, src(1))}, Request{Image: image(t, src(2))}, Request{Image: image(t, src(3))}
		for _, r := range []Request{k1, k2, k1, k3} {
			use(t, x, r)
		}
		f.wantBuilds(3)
		use(t, x, k1)
		use(t, x, k3)
		f.wantBuilds(3)
		use(t, x, k2)
		f.wantBuilds(4)
		wantStats(t, c, map[stats.Counter]int64{stats.MemoryEvictions: 2})
	})
}

// A program in use is never destroyed under its user, whatever is evicted.
func TestEvictedProgramLivesWithItsUser(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		p, err := x.Program(t.Context(), Request{Image: image(t, src(1))})
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Kernel(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		x.Clear()
		if _, _, live, _ := f.counts(); live != 1 {
			t.Fatal("released under its user")
		}
		if again, err := p.Kernel(t.Context(), "k"); err != nil || again != k {
			t.Errorf("kernel of an evicted program: %v, %v", again, err)
		} else {
			again.Release()
		}
		p.Release()
		if _, _, live, _ := f.counts(); live != 1 {
			t.Fatal("released under its kernel's user")
		}
		k.Release()
		if _, _, live, kernels := f.counts(); live != 0 || kernels != 0 {
			t.Errorf("%d programs, %d kernels after the last use", live, kernels)
		}
	})
}

// A prepared request asks first the program that it found last. One that was evicted
// since, held or not, is never found again, and goes with its last user.
func TestPreparedForgetsWhatWasEvicted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		q, err := x.Prepare(Request{Image: image(t, src(1))})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() *Program[*fakeProgram, *fakeKernel] {
			t.Helper()
			p, err := q.Program(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		ask().Release()
		held := ask()
		if again := ask(); again != held {
			t.Error("another program while nothing was evicted")
		} else {
			again.Release()
		}
		f.wantBuilds(1)
		x.Clear()
		if after := ask(); after == held {
			t.Error("a program that was evicted")
		} else {
			after.Release()
		}
		f.wantBuilds(1) // the parts of the program that is held are shared
		held.Release()
		if _, _, live, _ := f.counts(); live != 1 {
			t.Errorf("%d programs live, want 1", live)
		}
		ask().Release()
		if err := x.SetLimits(0, 0); err != nil {
			t.Fatal(err)
		}
		if _, _, live, _ := f.counts(); live != 0 {
			t.Errorf("%d programs live when all were evicted", live)
		}
		ask().Release()
		ask().Release()
		f.wantBuilds(3)
	})
}

// oneDNN: the default capacity is 1024; set and get agree; 22 keeps 22 of 30;
// 15→13 with 12 keeps 12; 15→10 leaves 10; 0 clears and retains nothing;
// negative is refused.
func TestCapacity(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		if _, n := x.Limits(); n != 1024 {
			t.Errorf("default capacity %d, want 1024", n)
		}
		next := 0
		fill := func(n int) {
			for range n {
				use(t, x, Request{Image: image(t, src(next))})
				next++
			}
		}
		set := func(n, want int) {
			t.Helper()
			if err := x.SetLimits(0, n); err != nil {
				t.Error(err)
			}
			if _, got := x.Limits(); got != n {
				t.Errorf("capacity %d, want %d", got, n)
			}
			if got, _ := x.Len(); got != want {
				t.Errorf("capacity %d keeps %d, want %d", n, got, want)
			}
		}
		fill(8)
		set(0, 0)
		fill(3)
		set(22, 0) // nothing was retained under 0
		fill(30)
		set(15, 15)
		set(0, 0)
		set(15, 0)
		fill(12)
		set(13, 12)
		set(15, 12)
		set(10, 10)
		set(5, 5) // exactly half must not clear everything
		if err := x.SetLimits(0, -1); !errors.Is(err, ErrInvalid) {
			t.Errorf("negative capacity: %v", err)
		}
		if err := x.SetLimits(-1, 1); !errors.Is(err, ErrInvalid) {
			t.Errorf("negative bytes: %v", err)
		}
		_, _, live, _ := f.counts()
		if live != 5 {
			t.Errorf("%d live, want 5", live)
		}
	})
}

// DPC++ 10: 200 threads × 3 kernels end with 2 entries in a cache of 2; and
// DPC++ 16: one program and one kernel for each build, all released at the end.
func TestManyGoroutinesFewEntries(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		if err := x.SetLimits(0, 2); err != nil {
			t.Fatal(err)
		}
		imgs := []*Image{image(t, src(1)), image(t, src(2)), image(t, src(3))}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				for j := range imgs {
					k, err := x.Kernel(t.Context(), Request{Image: imgs[(i+j)%3]}, "k")
					if err != nil {
						t.Error(err)
						return
					}
					k.Release()
				}
			})
		}
		all.Wait()
		if n, _ := x.Len(); n != 2 {
			t.Errorf("%d programs, want 2", n)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, _, live, kernels := f.counts(); live != 0 || kernels != 0 {
			t.Errorf("%d programs and %d kernels live after Close", live, kernels)
		}
	})
}

// DPC++ 13: builds with the options a, b, b, none, a leave 3 entries.
func TestOptionsMakeEntries(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		img := image(t, src(1))
		for _, o := range []string{"-a", "-b", "-b", "", "-a"} {
			use(t, x, Request{Image: img, CompileOptions: o})
		}
		if n, _ := x.Len(); n != 3 {
			t.Errorf("%d programs, want 3", n)
		}
		f.wantBuilds(3)
	})
}

// A new value of a constant makes a new program, and a prefix of the constants
// is not the same (a weakness of DPC++). Their order is nothing.
func TestConstantsMakeEntries(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		img := image(t, src(1))
		sets := [][]key.SpecConstant{
			nil,
			{key.Uint32(1, 7)},
			{key.Uint32(1, 8)},
			{key.Uint32(1, 7), key.Uint32(2, 7)},
			{key.Uint64(1, 7)},
		}
		for _, s := range sets {
			use(t, x, Request{Image: img, Constants: s})
		}
		f.wantBuilds(5)
		use(t, x, Request{Image: img, Constants: []key.SpecConstant{key.Uint32(2, 7), key.Uint32(1, 7)}})
		f.wantBuilds(5)
		if _, err := x.Program(t.Context(), Request{Image: img, Constants: []key.SpecConstant{key.Uint32(1, 7), key.Uint32(1, 7)}}); !errors.Is(err, key.ErrDuplicate) {
			t.Errorf("a constant given twice: %v", err)
		}
	})
}

// DPC++ 16: with the memory tier off nothing is retained.
func TestMemoryTierOff(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := openCache(t, "", func(o *Options) { o.NoMemory, o.Mode = true, "" })
	x := fakeContextOn(c, f)
	r := Request{Image: image(t, src(1))}
	use(t, x, r)
	use(t, x, r)
	f.wantBuilds(2)
	if _, _, live, _ := f.counts(); live != 0 {
		t.Errorf("%d live programs, want none", live)
	}
}

// A program for several devices answers for each subset; equal devices share
// one build, others have their own.
func TestDeviceSets(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		other := f.devices[0]
		other.Name = "other"
		f.devices = append(f.devices, f.devices[0], other)
		x := fakeContextOn(c, f)
		img := image(t, src(1))
		p, err := x.Program(t.Context(), Request{Image: img})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		f.wantBuilds(2)
		for _, set := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
			use(t, x, Request{Image: img, Devices: set})
		}
		f.wantBuilds(2)
		a, _ := p.Native(0)
		b, _ := p.Native(1)
		if a != b || len(a.devices) != 2 {
			t.Errorf("equal devices do not share: %v, %v", a.devices, b.devices)
		}
		q, err := x.Program(t.Context(), Request{Image: img, Devices: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Release()
		if _, err := q.Native(2); !errors.Is(err, ErrDevice) {
			t.Errorf("Native of another device: %v", err)
		}
		if _, err := x.Program(t.Context(), Request{Image: img, Devices: []int{3}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a device that is not there: %v", err)
		}
	})
}

// oneDNN: a build nested in a build completes; a cycle is an error.
func TestNestedBuilds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		outer, inner := Request{Image: image(t, "outer")}, Request{Image: image(t, "inner")}
		f.build = func(ctx context.Context, job Job) error {
			if string(job.Recipe.Image.Units()[0].Code) != "outer" {
				return nil
			}
			p, err := x.Program(ctx, inner)
			if err == nil {
				p.Release()
			}
			return err
		}
		use(t, x, outer)
		f.wantBuilds(2)

		f.build = func(ctx context.Context, job Job) error {
			_, err := x.Program(ctx, Request{Image: image(t, "cycle")})
			return err
		}
		if _, err := x.Program(t.Context(), Request{Image: image(t, "cycle")}); !errors.Is(err, flight.ErrCycle) {
			t.Errorf("a build that asks for itself: %v", err)
		}
	})
}

// Close waits for builds in flight, releases everything once, held or not, and
// ends every later call.
func TestCloseContext(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Second
		x := fakeContextOn(c, f)
		held, err := x.Program(t.Context(), Request{Image: image(t, src(1))})
		if err != nil {
			t.Fatal(err)
		}
		k, err := held.Kernel(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if p, err := x.Program(t.Context(), Request{Image: image(t, src(2))}); err == nil {
				p.Release()
			}
		})
		time.Sleep(time.Millisecond)
		for range 3 {
			all.Go(func() {
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if builds, _, live, kernels := f.counts(); builds != 2 || live != 0 || kernels != 0 {
			t.Errorf("builds %d, live %d, kernels %d", builds, live, kernels)
		}
		k.Release()
		held.Release()
		if _, err := held.Kernel(t.Context(), "k"); !errors.Is(err, ErrClosed) {
			t.Errorf("Kernel after Close: %v", err)
		}
		if _, err := held.Native(0); !errors.Is(err, ErrClosed) {
			t.Errorf("Native after Close: %v", err)
		}
		if _, err := x.Program(t.Context(), Request{Image: image(t, src(1))}); !errors.Is(err, ErrClosed) {
			t.Errorf("Program after Close: %v", err)
		}
	})
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		x := fakeContextOn(c, newFake(t))
		if _, err := x.Program(t.Context(), Request{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("no image: %v", err)
		}
		if _, err := NewImage(key.OpenCLC, nil); !errors.Is(err, key.ErrEmpty) {
			t.Errorf("empty image: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := x.Program(ctx, Request{Image: image(t, src(1))}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
	})
}

// oneDNN: two engines are two entries: a live object belongs to one context,
// and each has its own.
func TestContextsShareNothingLive(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x, y := fakeContextOn(c, f), fakeContextOn(c, f)
		r := Request{Image: image(t, src(1))}
		use(t, x, r)
		use(t, y, r)
		f.wantBuilds(2) // without a disk tier
		if _, _, live, _ := f.counts(); live != 2 {
			t.Errorf("%d live programs, want one for each context", live)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		use(t, y, r)
		f.wantBuilds(2)
	})
}

// oneDNN: parallel distinct creations make an exact count, parallel
// re-creations add none.
func TestParallelCreations(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		f.took = time.Second
		x := fakeContextOn(c, f)
		imgs := make([]*Image, 100)
		for i := range imgs {
			imgs[i] = image(t, src(i))
		}
		for range 2 {
			var all sync.WaitGroup
			for i := range 500 {
				all.Go(func() { use(t, x, Request{Image: imgs[i%len(imgs)]}) })
			}
			all.Wait()
			f.wantBuilds(100)
			if n, _ := x.Len(); n != 100 {
				t.Errorf("%d programs, want 100", n)
			}
		}
	})
}

// A build under way is not evicted and built twice (a weakness of oneDNN).
func TestPendingBuildIsNotEvicted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newFake(t)
		x := fakeContextOn(c, f)
		if err := x.SetLimits(0, 1); err != nil {
			t.Fatal(err)
		}
		f.build = func(_ context.Context, job Job) error {
			if string(job.Recipe.Image.Units()[0].Code) == "slow" {
				time.Sleep(time.Minute)
			}
			return nil
		}
		slow := Request{Image: image(t, "slow")}
		var all sync.WaitGroup
		all.Go(func() { use(t, x, slow) })
		synctest.Wait()
		for i := range 5 {
			use(t, x, Request{Image: image(t, src(i))})
		}
		all.Go(func() { use(t, x, slow) })
		all.Wait()
		f.wantBuilds(6)
	})
}
